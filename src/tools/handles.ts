/**
 * What was opened is what is checked: a path is opened first, and then the kernel says of the open handle where
 * it really leads. A name can be swapped for a link between a check and its use; a handle can't.
 *
 * On Linux `/proc/self/fd/N` tells where a handle leads, and names below it are looked up from the handle
 * itself. Elsewhere the name is compared with the handle afterwards, which leaves a short window.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  type BigIntStats,
} from 'node:fs'
import { sep } from 'node:path'
import { isOfSystem } from '../runtime/kernel/is-of-system.ts'

/** Where the kernel shows the handles of this process; null where it does not. */
export const handlesAt: string | null =
  process.platform === 'linux' && existsSync('/proc/self/fd') ? '/proc/self/fd' : null

/** Both are absolute, without `.`, `..` or a separator too many: what `resolve` and the kernel give. */
export const within = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)

/** Where tools may work: all paths are real ones. */
export type Bounds = {
  /** The session's directory. */
  root: string
  /** Tieline's own directories, which no tool may look into: log, keys, agreements. */
  hidden: readonly string[]
}

/** What the kernel makes up is in no session's directory, also where that is the top of everything. */
export const belongs = ({ root, hidden }: Bounds, real: string): boolean =>
  within(root, real) && !isOfSystem(real) && !hidden.some((own) => within(own, real))

/**
 * Opens without following a last link and without hanging on a pipe. Null where what was opened is not inside
 * `bounds`: a directory on the way was swapped for a link. Throws what the system says.
 */
export function openInside(bounds: Bounds, path: string, flags = 0, at = handlesAt): number | null {
  const opened = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | flags)
  try {
    if (
      at === null
        ? isAt(bounds, path, fstatSync(opened, { bigint: true }))
        : belongs(bounds, locate(opened, at))
    )
      return opened
  } catch (error) {
    closeSync(opened)
    throw error
  }
  closeSync(opened)
  return null
}

const locate = (opened: number, at: string): string => readlinkSync(`${at}/${opened}`)

/** Whether `path` still has no links and names this very file. */
function isAt(bounds: Bounds, path: string, stat: BigIntStats): boolean {
  const now = lstatSync(path, { bigint: true })
  const isSame = now.ino === stat.ino && now.dev === stat.dev
  return isSame && realpathSync.native(path) === path && belongs(bounds, path)
}

export const openFolder = (bounds: Bounds, path: string, at = handlesAt): number | null =>
  openInside(bounds, path, constants.O_DIRECTORY, at)

/** A path to an open directory that nobody can lead elsewhere; where there is none, the one it was opened by. */
export const pathTo = (opened: number, path: string, at = handlesAt): string =>
  at === null ? path : `${at}/${opened}`

/**
 * A second name for a file of somebody else: its owner did not put it here, so it does not belong to the
 * directory. Links to one's own files are common (package managers make them).
 */
export const isForeignLink = ({ nlink, uid }: BigIntStats): boolean =>
  nlink > 1n && process.getuid !== undefined && uid !== BigInt(process.getuid())
