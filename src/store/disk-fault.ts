/** What a disk did, in plain words: from SQLite's codes, the file's identity and the free space. */
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The file that is open is not the file at its path any more. */
export class FileGone extends Error {}

/** Whether waiting can help: a damaged file, and one that was replaced, need a person and a restart. */
export type FaultWords = { reason: string; cure: string; passes: boolean }

const codes = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const

const primaryCode = (cause: unknown): number | null => {
  const code = (cause as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : null
}

/** SQLite's extended codes for failed writes, extensions and syncs. Others of this kind are about reading. */
const writing = new Set([778, 1034, 1290, 1546, 4618, 4874, 5386])
/** Below this a fault of writing is most likely one of space, whatever it is called. */
const scarceBytes = 256 * 1024

/** `freeBytes` is what is left on the disk, where that is known. */
export function faultWords(cause: unknown, freeBytes: number | null = null): FaultWords {
  const said = cause instanceof Error ? cause.message : String(cause)
  const passing = (reason: string, cure: string): FaultWords => ({ reason, cure, passes: true })
  if (cause instanceof FileGone)
    return passing(said, 'Move the file back, or restart the server to use what is there now.')
  const code = primaryCode(cause) ?? systemCode(cause) ?? codes.io
  switch (code === codes.io && freeBytes !== null && freeBytes < scarceBytes ? codes.full : code) {
    case codes.full:
      return passing('the disk is full', 'Free some space on it.')
    case codes.readOnly:
      return passing(`the log is read-only (${said})`, 'Make its directory and its files writable.')
    case codes.cannotOpen:
      return passing(
        `the log cannot be opened (${said})`,
        'Check that its directory is there and may be written to.',
      )
    case codes.busy:
    case codes.locked:
      return passing('another program holds a lock on the log', 'End that program.')
    case codes.corrupt:
    case codes.notADatabase:
      return {
        reason: `the log is damaged (${said})`,
        cure: 'Stop the server and run "tieline check".',
        passes: false,
      }
    default:
      return passing(
        `the log could not be written (${said})`,
        'Check the disk, its quota and the limits of the process.',
      )
  }
}

/** Whether it is about the place of a file, and not about what is in it. */
export const isAboutPlace = (cause: unknown): boolean => {
  const code = primaryCode(cause)
  if (code === codes.io) return writing.has((cause as { errcode: number }).errcode)
  return (
    code !== null &&
    ([codes.full, codes.readOnly, codes.cannotOpen, codes.busy, codes.locked] as number[]).includes(code)
  )
}

/** Whether it is about what is in a file, which no longer makes sense. */
export const isDamage = (cause: unknown): boolean =>
  ([codes.corrupt, codes.notADatabase] as (number | null)[]).includes(primaryCode(cause))

/** SQLite's primary codes for faults of the data, not of the disk: too big, constraint, mismatch. */
const dataFaults: ReadonlySet<number> = new Set([18, 19, 20])

export function isDiskFault(cause: unknown): boolean {
  const code = primaryCode(cause)
  return code !== null && !dataFaults.has(code)
}

/** The same kinds, as Node's own file functions say them. */
function systemCode(cause: unknown): number | null {
  switch ((cause as { code?: unknown } | null)?.code) {
    case 'ENOSPC':
      return codes.full
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return codes.readOnly
    case 'ENOENT':
    case 'ENOTDIR':
      return codes.cannotOpen
    default:
      return null
  }
}

/** Of the disk that a directory is on, for this user; null where nobody can tell. */
export function freeBytesAt(directory: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  } catch {
    return null
  }
}

export function freeWords(directory: string, free = freeBytesAt(directory)): string {
  return free === null ? '' : `; ${(free / 1_000_000).toFixed(1)} MB are free there`
}

/** Which file a path names, so that a replaced file is noticed. Null where there is none. */
export function fileIdentity(path: string): string | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found === undefined ? null : `${found.dev}:${found.ino}`
  } catch {
    return null
  }
}

const probeBytes = 1024 * 1024

/**
 * Writes a file as large as an ordinary group of commits, and removes it again. A few free bytes would let
 * the smallest commit through and the next one not, so that the store would come and go.
 */
export function probeDisk(file: string): void {
  const path = join(dirname(file), 'space.probe')
  const handle = openSync(path, 'w', 0o600)
  try {
    const block = Buffer.alloc(probeBytes)
    for (let at = 0; at < block.length;) at += writeSync(handle, block, at)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
    rmSync(path, { force: true })
  }
}
