/**
 * Files stay inside the session's directory, symbolic links resolved.
 *
 * C1. A path is checked where it really leads: links are followed, also for a file that does not exist yet.
 * C2. The checked path is the one that is used. It has no links left, and its last part is opened without
 * following one, so a link planted after the check is not followed.
 * C3. A file is replaced whole or not at all.
 *
 * Looking at names is done at once, without the thread pool: a handful of system calls of a few microseconds
 * each, where every hop to the pool costs more than all of them.
 *
 * This binds agents that have these tools but no `shell`: a shell is not confined to a directory, and only a
 * shell can plant links.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  type BigIntStats,
} from 'node:fs'
import { lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { textAt } from '../model/json.ts'
import { badInput, type Refusal } from '../model/refusal.ts'
import { systemClock } from '../runtime/kernel/system-clock.ts'
import { systemIds } from '../runtime/kernel/system-ids.ts'

/** A place inside the directory: `path` is absolute and free of links, `shown` is relative. */
export type Inside = { path: string; shown: string; exists: boolean }

/** As many links in a row as Linux follows. */
const linksMax = 40

export async function resolveInside(cwd: string, given: string, field: string): Promise<Inside | Refusal> {
  const root = findRoot(cwd)
  if (given.includes('\0')) return badInput(field, given, 'a path without NUL characters')
  const expected = `a path inside the working directory ${cwd}, symbolic links resolved,`
  const outside = badInput(field, given, expected)
  const absolute = resolve(cwd, given)
  // The words alone are checked first, so that nothing can be learnt about the disk outside.
  if (!within(resolve(cwd), absolute) && !within(root, absolute)) return outside
  try {
    const { real, exists } = follow(absolute, linksMax)
    if (!within(root, real)) return outside // C1
    return { path: real, shown: relative(root, real) || '.', exists }
  } catch (error) {
    const refusal = refusalOfFs(error, field, given)
    if (refusal === null) throw error
    return refusal
  }
}

function findRoot(cwd: string): string {
  try {
    return realpathSync.native(cwd)
  } catch (cause) {
    throw new Error(`the session's directory ${cwd} cannot be used`, { cause })
  }
}

function within(root: string, path: string): boolean {
  const way = relative(root, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/**
 * Where `path` leads. `realpath` cannot say it for what does not exist, and a dangling link must not pass for
 * a plain missing file: a write through it would land at its target.
 */
function follow(path: string, linksLeft: number): { real: string; exists: boolean } {
  try {
    return { real: realpathSync.native(path), exists: true }
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error
  }
  const parent = follow(dirname(path), linksLeft)
  const place = join(parent.real, basename(path))
  const target = linkAt(place)
  if (target === null) return { real: place, exists: false }
  if (linksLeft === 0) throw Object.assign(new Error(`too many links: ${path}`), { code: 'ELOOP' })
  return follow(resolve(parent.real, target), linksLeft - 1)
}

function linkAt(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch (error) {
    // Nothing there, or there but no link: either way there is nothing to follow.
    if (isMissing(error) || readErrno(error) === 'EINVAL') return null
    throw error
  }
}

/**
 * Opens a regular file and closes it after `work`. Does not hang on a pipe, nor follow a link planted since
 * the check.
 */
export async function withFile<T extends object>(
  inside: Inside,
  given: string,
  work: (file: number, stat: BigIntStats) => Promise<T>,
): Promise<T | Refusal> {
  const file = openSync(inside.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK) // C2
  try {
    const stat = fstatSync(file, { bigint: true })
    if (stat.isDirectory()) return badInput('path', given, 'a file, not a directory,')
    if (!stat.isFile()) return badInput('path', given, 'a regular file, not a device, pipe or socket,')
    if (!isAt(inside.path, stat)) return moved(given)
    return await work(file, stat)
  } finally {
    closeSync(file)
  }
}

/**
 * Whether `path` still has no links and names this very file: a directory on the way may have been swapped
 * for a link between check and open.
 */
function isAt(path: string, stat: BigIntStats): boolean {
  const now = lstatSync(path, { bigint: true })
  return now.ino === stat.ino && now.dev === stat.dev && realpathSync.native(path) === path // C2
}

const moved = (given: string): Refusal =>
  badInput('path', given, 'a path that nobody changes at the same time')

/**
 * Names that nobody else on this disk makes up. They live for one write and are in no log, so nothing needs
 * to repeat them.
 */
const temporaries = systemIds(() => systemClock.now())

/** What a file was when it was read, to see whether it still is. */
export type Version = Pick<BigIntStats, 'ino' | 'size' | 'mtimeNs'>

/**
 * Writes the whole file beside its place and renames it there. With `version`, only if the file is still that
 * one.
 */
export async function replaceFile(
  inside: Inside,
  given: string,
  content: string,
  signal: AbortSignal,
  version?: Version,
): Promise<{ bytes: number; created: boolean } | Refusal> {
  const old = await regularAt(inside.path)
  if (old === 'other') return badInput('path', given, 'a file, not a directory, device or pipe,')
  const parent = dirname(inside.path)
  await mkdir(parent, { recursive: true })
  if ((await realpath(parent)) !== parent) return moved(given) // C2
  const temporary = join(parent, `.tieline-${temporaries.next()}.tmp`)
  try {
    const bytes = await writeNew(temporary, content, old)
    signal.throwIfAborted()
    if (version !== undefined && !sameVersion(version, await regularAt(inside.path))) return moved(given)
    await rename(temporary, inside.path) // C3
    return { bytes, created: old === null }
  } finally {
    // After the rename there is nothing under this name; before it, an unfinished file that must not stay.
    await rm(temporary, { force: true })
  }
}

async function writeNew(path: string, content: string, like: BigIntStats | null): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const handle = await open(path, flags, 0o666)
  try {
    if (like !== null) await handle.chmod(Number(like.mode & 0o7777n))
    const data = Buffer.from(content, 'utf8')
    await handle.writeFile(data)
    // Without this a crash may leave an empty file under the final name.
    await handle.sync()
    return data.length
  } finally {
    await handle.close()
  }
}

async function regularAt(path: string): Promise<BigIntStats | 'other' | null> {
  try {
    const stat = await lstat(path, { bigint: true })
    return stat.isFile() ? stat : 'other'
  } catch (error) {
    if (readErrno(error) === 'ENOENT') return null
    throw error
  }
}

const sameVersion = (version: Version, now: BigIntStats | 'other' | null): boolean =>
  now !== null &&
  now !== 'other' &&
  now.ino === version.ino &&
  now.size === version.size &&
  now.mtimeNs === version.mtimeNs

const lastAt = new Map<string, Promise<void>>()

/**
 * Runs work on one file after earlier work on it: models edit the same file several times in one step, and
 * each edit must see the one before.
 */
export function inTurn<T>(path: string, work: () => Promise<T>): Promise<T> {
  const result = (lastAt.get(path) ?? Promise.resolve()).then(work)
  const forget = (): void => {
    if (lastAt.get(path) === settled) lastAt.delete(path)
  }
  const settled: Promise<void> = result.then(forget, forget)
  lastAt.set(path, settled)
  return result
}

export const readErrno = (error: unknown): string => (error instanceof Error ? textAt(error, 'code') : '')

/** Nothing is there; ENOTDIR says so of a path that goes on below a file. */
const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(readErrno(error))

const acceptedAfter: Record<string, string> = {
  ENOENT: 'a path that exists',
  ENOTDIR: 'a path whose parents are all directories',
  EISDIR: 'a file, not a directory,',
  EACCES: 'a path that this process may use',
  EPERM: 'a path that this process may use',
  EROFS: 'a path that can be written to',
  ELOOP: 'a path without a ring of symbolic links',
  ENAMETOOLONG: 'a path with shorter names',
  ENXIO: 'a regular file, not a device, pipe or socket,',
}

/** What the disk declined because of the path, as a refusal; null for a fault, such as a full disk. */
export function refusalOfFs(error: unknown, field: string, given: unknown): Refusal | null {
  const accepted = acceptedAfter[readErrno(error)]
  return accepted === undefined ? null : badInput(field, given, accepted)
}
