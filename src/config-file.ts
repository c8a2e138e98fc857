/**
 * Finds the file that counts: one that was named, one that was found in the working directory and that a
 * person has agreed to, or the user's own. Each is read once.
 */
import { realpathSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { parse as parseToml, TomlError } from 'smol-toml'
import type { CountTokens } from './model/text.ts'
import { readConfigIn, readConfigText, userDirectory, type ConfigText } from './trust/config-text.ts'
import { isTrusted, readTrusted, trustDirectory, type Trusted } from './trust/trust-store.ts'

export type ConfigSource = {
  /** Named by a flag; it wins over TIELINE_CONFIG, and must exist. */
  file?: string | undefined
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  home: string
  /** Only a file that is named, or the user's own: what lies in a directory is not looked at. */
  userOnly?: boolean
  /** Loaded only if a prompt is long enough to need counting. */
  loadTokenizer?: () => Promise<CountTokens>
}

/** The message has one line for each problem. */
export class ConfigError extends Error {
  readonly problems: readonly string[]
  constructor(place: string, problems: readonly string[], options?: ErrorOptions) {
    super(problems.map((text) => `${place}: ${text}`).join('\n'), options)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

export type ChosenFile = {
  /** Null where there is none, or none that may be used. */
  used: ConfigText | null
  /** The user's own file, where another one is used that may only narrow it. */
  own: ConfigText | null
  /** A file that was found and is not used, and what was agreed to before. */
  untrusted: { file: ConfigText; before: Trusted | null } | null
  warnings: string[]
}

export function chooseFile(source: ConfigSource): ChosenFile {
  const { file, cwd, env, home } = source
  const named = nonEmpty(file) ?? nonEmpty(env['TIELINE_CONFIG'])
  if (named !== undefined) return readNamed(absolute(named, cwd, home), source)
  const directory = userDirectory(env, home)
  const own = attempt(directory, () => readConfigIn(directory))
  const ofUser = {
    used: own?.used ?? null,
    own: null,
    untrusted: null,
    warnings: own === null ? [] : sayUnread(own),
  }
  if (source.userOnly === true || isSamePlace(cwd, directory)) return ofUser
  const found = readFound(cwd)
  if (found === null || typeof found === 'string')
    return found === null ? ofUser : { ...ofUser, warnings: [...ofUser.warnings, found] }
  const before = readTrusted(trustDirectory(env, home), found.used.path)
  if (!isTrusted(before, [found.used])) return { ...ofUser, untrusted: { file: found.used, before } }
  return { used: found.used, own: own?.used ?? null, untrusted: null, warnings: sayUnread(found) }
}

type FoundIn = NonNullable<ReturnType<typeof readConfigIn>>

const sayUnread = ({ used, other }: FoundIn): string[] =>
  other === null ? [] : [`${other} is not read, because ${used.path} is there too.`]

/** What cannot be read was put there by anybody: it is not used, and no reason to stop. */
function readFound(cwd: string): FoundIn | null | string {
  try {
    return readConfigIn(cwd)
  } catch (error) {
    return `the configuration in ${cwd} is not used, because it cannot be read: ${describeFault(error)}.`
  }
}

function readNamed(path: string, { file }: ConfigSource): ChosenFile {
  const used = attempt(path, () => readConfigText(path))
  if (used === null)
    throw new ConfigError(path, [
      `there is no such file; ${nonEmpty(file) === undefined ? 'TIELINE_CONFIG' : '--config'} must name one.`,
    ])
  return { used: { ...used, path }, own: null, untrusted: null, warnings: [] }
}

function attempt<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new ConfigError(path, [`it cannot be read: ${describeFault(cause)}`], { cause })
  }
}

const describeFault = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function isSamePlace(a: string, b: string): boolean {
  try {
    return realpathSync.native(a) === realpathSync.native(b)
  } catch {
    return false
  }
}

/** Throws a ConfigError with the place of a mistake. */
export function parseFile({ path, text }: ConfigText): unknown {
  try {
    return path.endsWith('.json') ? JSON.parse(text) : parseToml(text)
  } catch (error) {
    if (error instanceof TomlError)
      throw new ConfigError(`${path}:${error.line}:${error.column}`, [error.message.trimEnd()], {
        cause: error,
      })
    throw new ConfigError(path, [`this is not JSON: ${describeFault(error)}`], { cause: error })
  }
}

export function absolute(path: string, base: string, home: string): string {
  const expanded = path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path
  return isAbsolute(expanded) ? expanded : resolve(base, expanded)
}

/** An empty variable is an absent one. */
export const nonEmpty = (value: string | undefined): string | undefined =>
  value === undefined || value === '' ? undefined : value
