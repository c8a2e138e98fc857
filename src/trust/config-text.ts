/** The text of a configuration file, read once: what was hashed is what is used. */
import { createHash } from 'node:crypto'
import { closeSync, existsSync, constants, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export type ConfigText = {
  /** Its directory has no links; its own name may be one. */
  path: string
  text: string
  /** Of its bytes. */
  hash: string
}

const bytesMax = 1_048_576

/** Null where there is none. Throws for what cannot be read, and does not hang on a pipe. */
export function readConfigText(path: string): ConfigText | null {
  let file: number | null = null
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(file)
    if (!stat.isFile()) throw new Error('it is not a file')
    if (stat.size > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`)
    const bytes = readFileSync(file)
    return {
      path: join(realpathSync.native(dirname(path)), basename(path)),
      text: bytes.toString('utf8').replace(/^\uFEFF/, ''),
      hash: hashBytes(bytes),
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  } finally {
    if (file !== null) closeSync(file)
  }
}

export const hashBytes = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('base64url')

/** What a directory has: `tieline.toml` wins over `tieline.json`. */
export function readConfigIn(directory: string): { used: ConfigText; other: string | null } | null {
  const [toml, json] = configNames.map((name) => join(directory, name)) as [string, string]
  const used = readConfigText(toml)
  const other = readConfigText(json)
  if (used !== null) return { used, other: other === null ? null : json }
  return other === null ? null : { used: other, other: null }
}

/** The nearest directory at or above `cwd` that has a configuration; null at one of the user's `own`. */
export function findConfigDirectory(cwd: string, own: readonly string[]): string | null {
  for (let directory = cwd; ; directory = dirname(directory)) {
    if (own.includes(directory)) return null
    if (configNames.some((name) => existsSync(join(directory, name)))) return directory
    if (directory === dirname(directory)) return null
  }
}

export const configNames = ['tieline.toml', 'tieline.json'] as const

type Env = Readonly<Record<string, string | undefined>>

/** The user's own: what stands there needs nobody's agreement. */
export const userDirectory = (env: Env, home: string): string =>
  join((env['XDG_CONFIG_HOME'] ?? '') || join(home, '.config'), 'tieline')
