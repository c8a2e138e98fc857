/** Flags that several commands share, and how their values are read. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { flagText, UsageError, type CommandInput, type Flag } from './command.ts'

type FlagInput = Pick<CommandInput, 'flags'>

export const cwdFlag: Flag = { value: 'DIR', help: 'the directory to work in; by default this one' }

export const conversationFlags = {
  agent: { value: 'NAME', help: 'the agent; by default the first one of the configuration' },
  cwd: cwdFlag,
  session: { value: 'ID', help: 'continue this session instead of starting a new one' },
} as const satisfies Record<string, Flag>

export const timeoutFlag: Flag = { value: 'SECONDS', help: 'how long it may take' }

/** The error for a value that a flag does not take. */
export const refuseValue = (flag: string, given: unknown, needed: string): UsageError =>
  new UsageError(`--${flag}: "${String(given)}" was given, but ${needed} is needed.`)

export function readTimeout({ flags }: FlagInput): number | null {
  const given = flags['timeout']
  if (given === undefined) return null
  const seconds = typeof given === 'string' && given.trim() !== '' ? Number(given) : Number.NaN
  if (seconds > 0 && Number.isFinite(seconds)) return seconds * 1000
  throw new UsageError(
    `--timeout: "${given}" was given, but a number of seconds above 0 is needed, such as 30 or 0.5.`,
  )
}

export function readTask(word = ''): string {
  if (word.trim() !== '') return word
  throw new UsageError('<task>: an empty text was given, but one that says what to do is needed.')
}

/** An absolute path. With a server elsewhere, the directory is on that machine. */
export function readCwd({ flags, env }: Pick<CommandInput, 'flags' | 'env'>): string {
  const cwd = resolve(flagText(flags['cwd']) ?? '.')
  const isHere = flags['server'] === undefined && (env['TIELINE_SERVER'] ?? '') === ''
  if (
    flags['cwd'] !== undefined &&
    isHere &&
    statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true
  )
    throw new UsageError(`--cwd: "${cwd}" is no directory; name one that exists.`)
  return cwd
}

export function readUrl(given: string): string {
  if (URL.canParse(given) && /^https?:/.test(given)) return given
  throw refuseValue('server', given, 'a URL such as http://127.0.0.1:8283')
}

const limitDefault = 20

export const limitFlag: Flag = { value: 'COUNT', help: `how many, newest first; by default ${limitDefault}` }

export function readLimit({ flags }: FlagInput): number {
  const given = flagText(flags['limit']) ?? String(limitDefault)
  if (/^[1-9]\d{0,6}$/.test(given)) return Number(given)
  throw refuseValue('limit', given, 'a whole number above 0')
}
