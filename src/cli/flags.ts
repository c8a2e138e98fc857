/** Flags that several commands take, and how their values are read. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { flagText, UsageError, type CommandInput, type Flag } from './command.ts'

export const conversationFlags = {
  agent: { value: 'NAME', help: 'which agent; otherwise the first one of the configuration' },
  cwd: { value: 'DIR', help: 'the directory to work in; otherwise this one' },
  session: { value: 'ID', help: 'go on with this session instead of a new one' },
} as const satisfies Record<string, Flag>

export const timeoutFlag: Flag = { value: 'SECONDS', help: 'when it ends at the latest' }

export function readTimeout({ flags }: Pick<CommandInput, 'flags'>): number | null {
  const given = flags['timeout']
  if (given === undefined) return null
  const seconds = typeof given === 'string' && given.trim() !== '' ? Number(given) : Number.NaN
  if (!(seconds > 0) || !Number.isFinite(seconds))
    throw new UsageError(
      `--timeout: "${given}" was given, but a number of seconds above 0 is needed, such as 30 or 0.5.`,
    )
  return seconds * 1000
}

export function readTask(word: string | undefined): string {
  if ((word ?? '').trim() === '')
    throw new UsageError('<task>: an empty text was given, but one that says what to do is needed.')
  return word ?? ''
}

/** The directory to work in, as a whole path. On a server elsewhere it is that machine's. */
export function readCwd({ flags, env }: Pick<CommandInput, 'flags' | 'env'>): string {
  const cwd = resolve(flagText(flags['cwd']) ?? '.')
  const here = flags['server'] === undefined && (env['TIELINE_SERVER'] ?? '') === ''
  if (flags['cwd'] !== undefined && here && statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UsageError(`--cwd: "${cwd}" is no directory; name one that is there.`)
  return cwd
}

const shownUsually = 20

export const limitFlag: Flag = { value: 'COUNT', help: `how many, newest first; otherwise ${shownUsually}` }

export function readLimit({ flags }: Pick<CommandInput, 'flags'>): number {
  const given = flagText(flags['limit'])
  if (given === undefined) return shownUsually
  if (!/^[1-9]\d{0,6}$/.test(given))
    throw new UsageError(`--limit: "${given}" was given, but a whole number above 0 is needed.`)
  return Number(given)
}
