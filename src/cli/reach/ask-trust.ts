/** Asks a person about a configuration that was found: what it could do, and what has changed. */
import { homedir } from 'node:os'
import type { Untrusted } from '../../config.ts'
import { whyUntrusted } from '../../model/untrusted.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { compareReach, describeUnused } from '../../trust/describe-reach.ts'
import { actsForAgent, reachLists, rememberTrusted, trustDirectory } from '../../trust/trust-store.ts'
import type { Reach } from '../../trust/trust-store.ts'
import { isSilent, printError, type CommandInput } from '../command.ts'
import { isYes, showUnseen } from '../chat/question.ts'

type TrustInput = Pick<CommandInput, 'flags' | 'env'> & Partial<Pick<CommandInput, 'in' | 'err' | 'signal'>>

/** A process may look several times. It asks once about the same bytes, and says once that they are unused. */
const told = new Set<string>()

/** Whether the person has agreed now. Without a terminal one line says that the file is not used. */
export async function askTrust(input: TrustInput, untrusted: Untrusted): Promise<boolean> {
  const { err } = input
  const key = untrusted.files.map(({ path, hash }) => `${path} ${hash}`).join('\n')
  if (err === undefined || told.has(key)) return false
  told.add(key)
  const reach = mayAsk(input) ? untrusted.reach : null
  if (reach !== null) {
    err.write(`${describeProject(untrusted, reach).join('\n')}\n`)
    if (await askYes(input)) {
      agree(input, untrusted, reach)
      return true
    }
  }
  if (input.flags['quiet'] !== true) printError(err, describeUnused(untrusted))
  return false
}

/** Only a person agrees: on a terminal, and not inside the turn of an agent. */
const mayAsk = (input: TrustInput): boolean =>
  input.in?.isTTY === true && input.err?.isTTY === true && !isSilent(input) && !actsForAgent(input.env)

export async function askYes({ in: from, err, signal }: TrustInput): Promise<boolean> {
  if (from === undefined || err === undefined) return false
  const { askLine } = await import('../chat/prompt.ts')
  const line = await askLine(
    from,
    err,
    'Use this configuration? [y/N] ',
    signal ?? new AbortController().signal,
  )
  if (line === 'interrupted') process.emit('SIGINT')
  return line !== null && line !== 'interrupted' && isYes(line.text)
}

/** Remembers exactly what was shown: the files by their hashes, and what they could do. */
export function agree(
  { env, home = homedir() }: { env: CommandInput['env']; home?: string },
  { file, files }: Untrusted,
  reach: Reach,
): void {
  const at = systemClock.now()
  rememberTrusted(trustDirectory(env, home), { file, files: [...files], reach, at })
}

const headings: Readonly<Record<(typeof reachLists)[number], string>> = {
  runs: 'It could run',
  sends: 'It could send to',
  keys: 'It names the keys in',
  writes: 'It could write',
}

/** Text of strangers: each item is one line. */
export function describeProject(
  { file, before }: Pick<Untrusted, 'file' | 'before'>,
  reach: Reach,
): string[] {
  const changes = before === null ? null : compareReach(before.reach, reach)
  const unchanged = changes !== null && reachLists.every((list) => changes[list].length === 0)
  return [
    `${showUnseen(file)} is not used yet: ${whyUntrusted[before === null ? 'new' : 'changed']}.`,
    ...reachLists.flatMap((list) => describeList(headings[list], reach[list])),
    ...(changes === null
      ? []
      : unchanged
        ? ['None of these lists has changed; something else in it has, such as a prompt.']
        : [
            'Changed since then:',
            ...reachLists.flatMap((list) => describeList(`  ${headings[list]}`, changes[list], '    ')),
          ]),
    ...(reach.runs.length === 0
      ? []
      : ['The programs themselves are not covered: you are not asked again when one of them changes.']),
  ]
}

const describeList = (heading: string, items: readonly string[], indent = '  '): string[] =>
  items.length === 0
    ? indent === '  '
      ? [`${heading}: nothing`]
      : []
    : [`${heading}:`, ...items.map((item) => `${indent}${showUnseen(item)}`)]
