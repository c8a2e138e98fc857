/** Writes a file whole or not at all, in a directory that is held open meanwhile. */
import { closeSync, constants, lstatSync, mkdirSync, openSync, realpathSync, type BigIntStats } from 'node:fs'
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { badInput, type Refusal } from '../model/refusal.ts'
import { systemClock } from '../runtime/kernel/system-clock.ts'
import { systemIds } from '../runtime/kernel/system-ids.ts'
import { moved, readErrno, type Inside } from './containment.ts'
import { handlesAt, openFolder, pathTo } from './handles.ts'

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
  at = handlesAt,
): Promise<{ bytes: number; created: boolean } | Refusal> {
  const folder = at === null ? await makeFolder(inside) : openFolders(inside, at)
  if (folder === null) return moved(given)
  const place = join(folder.path, basename(inside.path))
  const temporary = join(folder.path, `.tieline-${temporaries.next()}.tmp`)
  try {
    const old = await regularAt(place)
    if (old === 'other') return badInput('path', given, 'a file, not a directory, device or pipe,')
    const bytes = await writeNew(temporary, content, old)
    signal.throwIfAborted()
    if (version !== undefined && !sameVersion(version, await regularAt(place))) return moved(given)
    await rename(temporary, place) // C3
    return { bytes, created: old === null }
  } finally {
    // After the rename there is nothing under this name; before it, an unfinished file that must not stay.
    await rm(temporary, { force: true })
    folder.close()
  }
}

type Folder = { path: string; close(): void }

/**
 * Opens the directory of a file from the root downwards, and makes what is missing. Each part is looked up in
 * the open directory above it and never through a link, so nobody can lead it out. Null: a part is a link now.
 */
function openFolders(inside: Inside, at: string): Folder | null {
  const { root, path } = inside
  let opened = openFolder(inside, root, at)
  if (opened === null) return null
  for (const part of relative(root, dirname(path)).split(sep)) {
    if (part === '') continue
    const next = openOrMake(`${at}/${opened}/${part}`, opened)
    closeSync(opened)
    if (next === null) return null
    opened = next
  }
  const last = opened
  return { path: pathTo(last, dirname(path), at), close: () => closeSync(last) }
}

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** Closes `above` if it throws. */
function openOrMake(place: string, above: number): number | null {
  try {
    return openSync(place, folderFlags)
  } catch (error) {
    try {
      if (readErrno(error) === 'ENOENT') return makeAndOpen(place)
      if (lstatSync(place).isSymbolicLink()) return null // C2
      throw error
    } catch (fault) {
      closeSync(above)
      throw fault
    }
  }
}

function makeAndOpen(place: string): number {
  try {
    mkdirSync(place)
  } catch (error) {
    // Another write made it meanwhile.
    if (readErrno(error) !== 'EEXIST') throw error
  }
  return openSync(place, folderFlags)
}

/** Where handles cannot be named, the directory is checked just before it is used. */
async function makeFolder({ path }: Inside): Promise<Folder | null> {
  const parent = dirname(path)
  await mkdir(parent, { recursive: true })
  return realpathSync.native(parent) === parent ? { path: parent, close: () => undefined } : null // C2
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
