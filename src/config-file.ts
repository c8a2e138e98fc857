/**
 * Finds the file that counts: one that was named, one that was found in the working directory and that a
 * person has agreed to, or the user's own. Each is read once.
 */
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { absolute, ConfigError, describeFault } from './config-path.ts'
import { readImports } from './config-imports.ts'
import type { CountTokens } from './model/text.ts'
import {
  findConfigDirectory,
  readConfigIn,
  readConfigText,
  userDirectory,
  type ConfigText,
} from './trust/config-text.ts'
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

/** A configuration, and the files that it imports. */
export type ConfigFiles = ConfigText & { imports: readonly ConfigText[] }

export const withFiles = (file: ConfigText, home: string): ConfigFiles => ({
  ...file,
  imports: readImports(file, home),
})

export type ChosenFile = {
  /** Null where there is none, or none that may be used. */
  used: ConfigFiles | null
  /** The user's own file, where another one is used that may only narrow it. */
  own: ConfigFiles | null
  /** It was found, and is neither named nor the user's own. */
  found: boolean
  /** A file that was found and is not used, and what was agreed to before. */
  untrusted: { file: ConfigFiles; before: Trusted | null } | null
  warnings: string[]
}

export function chooseFile(source: ConfigSource): ChosenFile {
  const { cwd, env, home } = source
  const named = findNamed(source)
  if (named !== null) return readNamed(absolute(named, cwd, home), source)
  const directory = userDirectory(env, home)
  const own = attempt(directory, () => readConfigIn(directory))
  const ofUser = {
    used: own === null ? null : withFiles(own.used, home),
    own: null,
    found: false,
    untrusted: null,
    warnings: own === null ? [] : sayUnread(own),
  }
  const nearest = source.userOnly === true ? null : findConfigDirectory(toReal(cwd), [toReal(directory)])
  if (nearest === null) return ofUser
  const found = readFound(nearest)
  if (found === null || typeof found === 'string')
    return found === null ? ofUser : { ...ofUser, warnings: [...ofUser.warnings, found] }
  const before = readTrusted(trustDirectory(env, home), found.used.path)
  const file = withFiles(found.used, home)
  if (!isTrusted(before, [file, ...file.imports])) return { ...ofUser, untrusted: { file, before } }
  return {
    used: file,
    own: own === null ? null : withFiles(own.used, home),
    found: true,
    untrusted: null,
    warnings: sayUnread(found),
  }
}

/** The file that a flag or the environment names, as it is written. */
export const findNamed = ({ file, env }: Pick<ConfigSource, 'file' | 'env'>): string | null =>
  nonEmpty(file) ?? nonEmpty(env['TIELINE_CONFIG']) ?? null

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

function readNamed(path: string, source: ConfigSource): ChosenFile {
  const { file } = source
  const used = attempt(path, () => readConfigText(path))
  if (used === null)
    throw new ConfigError(path, [
      `there is no such file; ${nonEmpty(file) === undefined ? 'TIELINE_CONFIG' : '--config'} must name one.`,
    ])
  return {
    used: withFiles({ ...used, path }, source.home),
    own: null,
    found: false,
    untrusted: null,
    warnings: [],
  }
}

function attempt<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new ConfigError(path, [`it cannot be read: ${describeFault(cause)}`], { cause })
  }
}

/** What is not there stays as it is spelled. */
function toReal(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return resolve(path)
  }
}

/** An empty variable is an absent one. */
export const nonEmpty = (value: string | undefined): string | undefined =>
  value === undefined || value === '' ? undefined : value
