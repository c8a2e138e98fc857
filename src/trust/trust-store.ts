/**
 * What a person has agreed to: a configuration, with the hash of every file that it consists of. All of them
 * are one unit: if one has changed, been added or gone, the agreement is void.
 *
 * Each agreement is a file of its own in the user's configuration directory, so that two processes never
 * overwrite each other's. The directories and files belong to the user alone; others count for nothing.
 */
import { chmodSync, closeSync, constants, fstatSync, mkdirSync, openSync, readdirSync } from 'node:fs'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { remembered } from '../model/remembered.ts'
import { hashBytes, userDirectory } from './config-text.ts'

export type HashedFile = { path: string; hash: string }

/** What a configuration could do, in words: one line for each. */
export type Reach = { runs: string[]; sends: string[]; keys: string[]; writes: string[] }
export const reachLists = ['runs', 'sends', 'keys', 'writes'] as const

export type Trusted = {
  /** The configuration itself, the first of `files`. */
  file: string
  files: HashedFile[]
  /** As it was shown, to say later what has changed. */
  reach: Reach
  /** In milliseconds. */
  at: number
}

type Env = Readonly<Record<string, string | undefined>>

export const trustDirectory = (env: Env, home: string): string => join(userDirectory(env, home), 'trusted')

export const isTrusted = (trusted: Trusted | null, files: readonly HashedFile[]): boolean =>
  trusted !== null && includesAll(trusted.files, files) && includesAll(files, trusted.files)

const includesAll = (files: readonly HashedFile[], wanted: readonly HashedFile[]): boolean =>
  wanted.every(({ path, hash }) => files.some((known) => known.path === path && known.hash === hash))

/** Null where nobody agreed to it, and for a file that others could have written. */
export function readTrusted(directory: string, file: string): Trusted | null {
  const read = readEntry(trustedFile(directory, file))
  return read?.file === file ? read : null
}

export function listTrusted(directory: string): Trusted[] {
  let names: string[]
  try {
    names = readdirSync(directory)
  } catch {
    // Nobody has agreed to anything yet.
    return []
  }
  return names
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => readEntry(join(directory, name)) ?? [])
    .sort((a, b) => (a.file < b.file ? -1 : 1))
}

/** Durable in one step, so that a reader sees the old agreement or the new one. */
export function rememberTrusted(directory: string, trusted: Trusted): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  chmodSync(directory, 0o700)
  const file = trustedFile(directory, trusted.file)
  const fresh = `${file}.${process.pid}.new`
  writeFileSync(fresh, `${JSON.stringify(trusted, null, 2)}\n`, { mode: 0o600 })
  chmodSync(fresh, 0o600)
  renameSync(fresh, file)
}

/** Whether there was an agreement to take back. */
export function forgetTrusted(directory: string, file: string): boolean {
  const known = readTrusted(directory, file) !== null
  rmSync(trustedFile(directory, file), { force: true })
  return known
}

/** Where the agreement to a configuration is kept. */
export const trustedFile = (directory: string, file: string): string => join(directory, nameEntry(file))

/** Asked for with every look at a project. */
const nameEntry = remembered((file: string) => `${hashBytes(file)}.json`, 1000)

const writableByOthers = 0o022

function readEntry(path: string): Trusted | null {
  let file: number | null = null
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stat = fstatSync(file)
    const isOurs = process.getuid === undefined || stat.uid === process.getuid()
    if (!stat.isFile() || !isOurs || (stat.mode & writableByOthers) !== 0) return null
    return parseEntry(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    // Missing or damaged: then nobody agreed, and the question comes again.
    return null
  } finally {
    if (file !== null) closeSync(file)
  }
}

function parseEntry(value: unknown): Trusted | null {
  const { file, files, reach, at } = (value ?? {}) as Partial<Trusted>
  const isWhole =
    typeof file === 'string' &&
    typeof at === 'number' &&
    Array.isArray(files) &&
    files.every((one) => typeof one?.path === 'string' && typeof one.hash === 'string') &&
    reachLists.every((list) => Array.isArray(reach?.[list]))
  return isWhole ? ({ file, files, reach, at } as Trusted) : null
}

/** Takes what a process of an agent would have in its environment: the token of its session or turn. */
export const actsForAgent = (env: Env): boolean =>
  Object.values(env).some((value) => value !== undefined && /^tl[st]_[A-Za-z0-9_-]+\./.test(value))
