/**
 * Files stay inside the session's directory, symbolic links resolved.
 *
 * C1. A path is checked where it really leads: links are followed, also for a file that does not exist yet.
 * C2. What is used is what was checked. A file or directory is opened first, and the open handle must be
 * inside (`handles.ts`). So whatever is swapped for a link after the check leads nowhere.
 * C3. A file is replaced whole or not at all (`replace-file.ts`).
 * C4. A hard link to a file of another user is not read.
 * C5. What the kernel makes up (/proc, /sys, /dev) is no directory to work in: files there show the server.
 * C6. Tieline's own directories are nobody's, also where they are inside: the log, keys, what the user agreed to.
 *
 * Looking at names is done at once, without the thread pool: a handful of system calls of a few microseconds
 * each, where every hop to the pool costs more than all of them.
 *
 * This binds agents that have these tools but no `shell`: a shell without a sandbox is not confined to a
 * directory.
 */
import { closeSync, fstatSync, readlinkSync, realpathSync, type BigIntStats } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { textAt } from '../model/json.ts'
import { badInput, type Refusal } from '../model/refusal.ts'
import { notOfSystem } from '../runtime/kernel/is-directory.ts'
import { isOfSystem } from '../runtime/kernel/is-of-system.ts'
import { belongs, handlesAt, isForeignLink, openInside, within, type Bounds } from './handles.ts'

/** A place inside the bounds: `path` is absolute and free of links, `shown` is relative. */
export type Inside = Bounds & { path: string; shown: string; exists: boolean }

/** Where a tool works. `hidden` are real paths. */
export type Workplace = { cwd: string; hidden?: readonly string[] | undefined }

const notOurs = "a path outside /proc, /sys, /dev and Tieline's own directories"

/** As many links in a row as Linux follows. */
const linksMax = 40

export async function resolveInside(
  { cwd, hidden = [] }: Workplace,
  given: string,
  field: string,
): Promise<Inside | Refusal> {
  const bounds = { root: findRoot(cwd), hidden }
  const { root } = bounds
  if (isOfSystem(root)) return badInput('cwd', cwd, notOfSystem) // C5
  if (given.includes('\0')) return badInput(field, given, 'a path without NUL characters')
  const expected = `a path inside the working directory ${cwd}, symbolic links resolved,`
  const outside = badInput(field, given, expected)
  const absolute = resolve(cwd, given)
  // The words alone are checked first, so that nothing can be learnt about the disk outside.
  if (!within(resolve(cwd), absolute) && !within(root, absolute)) return outside
  try {
    const { real, exists } = follow(absolute, linksMax)
    if (!within(root, real)) return outside // C1
    if (!belongs(bounds, real)) return badInput(field, given, notOurs) // C5, C6
    return { ...bounds, path: real, shown: relative(root, real) || '.', exists }
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
  at = handlesAt,
): Promise<T | Refusal> {
  const file = openInside(inside, inside.path, 0, at) // C2
  if (file === null) return moved(given)
  try {
    const stat = fstatSync(file, { bigint: true })
    if (stat.isDirectory()) return badInput('path', given, 'a file, not a directory,')
    if (!stat.isFile()) return badInput('path', given, 'a regular file, not a device, pipe or socket,')
    if (isForeignLink(stat)) return badInput('path', given, 'no hard link to a file of another user') // C4
    return await work(file, stat)
  } finally {
    closeSync(file)
  }
}

export const moved = (given: string): Refusal =>
  badInput('path', given, 'a path that nobody changes at the same time')

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
