/**
 * What a server keeps belongs to its user alone: directories 0700, files 0600, whatever the umask is and
 * whatever an earlier version left.
 */
import { chmodSync, closeSync, fchmodSync, lstatSync, openSync, readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, relative, resolve } from 'node:path'

const folderMode = 0o700
export const privateMode = 0o600

/**
 * What we write into a data directory: the log with what SQLite puts beside it, keys, addresses, output, and what is
 * kept. Each by its whole name: the directory may be a project's, which has locks and logs of its own.
 */
const ownNames = [
  'tieline.db',
  'replica.db',
  'token',
  'secret',
  'server.json',
  'replay.json',
  'limits.json',
  'owner.lock',
  'serve.log',
  'space.probe',
  'totals.kept',
]
export const dataNames = new RegExp(`^(?:${ownNames.join('|').replaceAll('.', '\\.')})(?:[-.].*)?$`)
/** What a view of mail writes: a database or a folder for each session, and how far it has read. */
export const mailNames = /^(?:ses_.*|\.cursor-.*)$/

/**
 * The uid of another user who owns the directory, or null. Its owner could replace the log, the keys and the
 * address of the server at any time.
 */
export function findForeignOwner(directory: string): number | null {
  const owner = statSync(directory).uid
  return process.getuid === undefined || owner === process.getuid() ? null : owner
}

/** Takes away what others may do with a directory, and with what in it is ours by its name. */
export function closeToOthers(directory: string, names: RegExp): void {
  if (!isShared(directory)) restrict(directory)
  for (const name of readdirSync(directory)) if (names.test(name)) restrict(join(directory, name))
}

/** A directory that is not only ours, such as a project's or /tmp, keeps its mode; our files in it don't. */
function isShared(directory: string): boolean {
  const sticky = 0o1000
  return (
    (statSync(directory).mode & sticky) !== 0 ||
    [process.cwd(), homedir()].some((place) => isAtOrBelow(resolve(directory), place))
  )
}

function isAtOrBelow(directory: string, place: string): boolean {
  const way = relative(directory, place)
  return way === '' || (!way.startsWith('..') && !isAbsolute(way))
}

const permissions = 0o777

/**
 * Changes only what is too open. Links are left alone, and so is what is gone again. A file system that has no
 * modes is no reason to stop; `tieline doctor` tells.
 */
export function restrict(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  const mode =
    found?.isFile() === true ? privateMode : found?.isDirectory() === true ? folderMode : permissions
  if (found === undefined || (found.mode & permissions & ~mode) === 0) return
  try {
    chmodSync(path, mode)
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EROFS', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error
  }
}

/** Whether others may look into a directory or read a file. */
export const isOpenToOthers = (path: string): boolean =>
  ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0

/**
 * Makes a file that SQLite opens afterwards: what SQLite puts beside it has the same mode. Where it cannot be
 * made, SQLite says why.
 */
export function makePrivate(path: string): void {
  try {
    const file = openSync(path, 'a', privateMode)
    fchmodSync(file, privateMode)
    closeSync(file)
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).code !== 'string') throw error
  }
}
