/** `tieline trust [dir]`: shows what a configuration that was found could do, and remembers a person's yes. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { realpathSync } from 'node:fs'
import type { Untrusted } from '../../config.ts'
import { configNames, readConfigText } from '../../trust/config-text.ts'
import {
  actsForAgent,
  forgetTrusted,
  isTrusted,
  listTrusted,
  trustDirectory,
  type Trusted,
} from '../../trust/trust-store.ts'
import {
  printError,
  printJson,
  printResult,
  UsageError,
  type Command,
  type CommandInput,
} from '../command.ts'
import { agree, askYes, describeProject } from '../reach/ask-trust.ts'

const otherPlace = 'it is about the files of a directory on this machine'

export const trust: Command = {
  name: 'trust',
  words: ['[dir]'],
  help: 'Shows what the tieline.toml of a directory could do, asks, and remembers that you agreed',
  flags: {
    list: { help: 'print what you have agreed to' },
    revoke: { help: 'take the agreement back' },
    yes: { help: 'agree without being asked' },
  },
  without: { config: 'a file that you name needs no agreement', server: otherPlace, 'data-dir': otherPlace },
  more: `
A configuration that is found in the working directory is used only after you have agreed to its exact bytes:
it can start programs, and send your keys to addresses of its choice. After every change you are asked again.
Programs that it names are not covered. Files that you name (--config, TIELINE_CONFIG) and your own in
~/.config/tieline need no agreement. See docs/security.md.`,
  examples: [
    'tieline trust',
    'tieline trust ../team --yes',
    'tieline trust --list',
    'tieline trust --revoke',
  ],
  run: runTrust,
}

async function runTrust(input: CommandInput): Promise<number> {
  const { flags, env, words } = input
  if (flags['list'] === true && flags['revoke'] === true)
    throw new UsageError('--list and --revoke: one of them at a time.')
  const store = trustDirectory(env, homedir())
  if (flags['list'] === true) return list(input, store)
  const directory = findDirectory(words[0] ?? '.')
  if (actsForAgent(env))
    throw new UsageError(
      'an agent cannot agree to a configuration, and this process has the token of one. ' +
        'Run it in a terminal of your own.',
    )
  return flags['revoke'] === true ? revoke(input, store, directory) : agreeTo(input, directory)
}

function findDirectory(given: string): string {
  try {
    return realpathSync.native(resolve(given))
  } catch (cause) {
    throw new UsageError(`[dir]: "${given}" is no directory; name one that exists.`, { cause })
  }
}

async function agreeTo(input: CommandInput, directory: string): Promise<number> {
  const found = await findUntrusted(input, directory)
  if (typeof found === 'string') {
    printResult(input, { file: found, trusted: true, changed: false }, `${found} is trusted as it is.`)
    return 0
  }
  const { file, reach } = found
  if (reach === null)
    throw new UsageError(`${found.problem ?? file}\nCorrect this first; nothing was agreed to.`)
  const isJson = input.flags['json'] === true
  if (!isJson) input.err.write(`${describeProject(found, reach).join('\n')}\n`)
  const isAsked = input.in?.isTTY === true && input.err.isTTY === true && !isJson
  const agreed = input.flags['yes'] === true || (isAsked && (await askYes(input)))
  if (agreed) agree(input, found, reach)
  const { runs, sends, keys, writes } = reach
  if (isJson) printJson(input.out, { file, trusted: agreed, changed: agreed, runs, sends, keys, writes })
  else if (agreed) input.out.write(`${file} is trusted. It counts from the next call on.\n`)
  else printError(input.err, `nothing was agreed to.${isAsked ? '' : ' --yes agrees without asking.'}`)
  return agreed ? 0 : 1
}

/** The file of a directory, or its path where it is trusted already. */
async function findUntrusted({ env }: CommandInput, directory: string): Promise<Untrusted | string> {
  const [{ loadConfig }, { ConfigError }] = await Promise.all([
    import('../../config.ts'),
    import('../../config-path.ts'),
  ])
  const { TIELINE_CONFIG: _named, ...others } = env
  try {
    const { untrusted, file } = await loadConfig({ cwd: directory, env: others, home: homedir() })
    if (untrusted !== null) return untrusted
    if (file !== null && configNames.some((name) => file === join(directory, name))) return file
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { cause: error })
    throw error
  }
  throw new UsageError(`there is no ${configNames.join(' or ')} in ${directory}.`)
}

function revoke(input: CommandInput, store: string, directory: string): number {
  const files = configNames.map((name) => join(directory, name))
  const revoked = files.filter((file) => forgetTrusted(store, file))
  if (revoked.length === 0) throw new UsageError(`you have not agreed to anything in ${directory}.`)
  const text = revoked.map((file) => `${file} is not trusted any more.`).join('\n')
  printResult(input, { revoked }, `${text}\nIt no longer counts from the next call on.`, text)
  return 0
}

function list(input: CommandInput, store: string): number {
  const known = listTrusted(store).map((trusted) => ({ ...trusted, state: readState(trusted) }))
  const lines = known.map(({ file, state }) => `${state.padEnd(7)}  ${file}`)
  printResult(
    input,
    { trusted: known },
    lines.join('\n') || 'You have not agreed to any configuration.',
    lines.join('\n'),
  )
  return 0
}

/** `changed`: it is not used before you have agreed again. */
function readState(trusted: Trusted): 'trusted' | 'changed' | 'gone' {
  try {
    const now = trusted.files.map(({ path }) => readConfigText(path))
    const there = now.filter((file) => file !== null)
    if (there.length < now.length) return 'gone'
    return isTrusted(trusted, there) ? 'trusted' : 'changed'
  } catch {
    return 'changed'
  }
}
