/**
 * A new log begins as a copy of an empty one that the build made: SQLite would parse every migration there has been,
 * and wait for the disk eight times instead of twice. From the sources, or where it cannot be copied, SQLite makes it.
 */
import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** Under its name only once it is whole and durable. Whatever is there already is left to SQLite. */
export function placeEmptyLog(file: string, empty: string): void {
  const names = [file, `${file}-wal`, `${file}-journal`]
  if (names.some((name) => lstatSync(name, { throwIfNoEntry: false }) !== undefined)) return
  const part = `${file}-new`
  try {
    rmSync(part, { force: true })
    writeFileSync(part, readFileSync(empty), { mode: 0o600, flag: 'wx', flush: true })
    renameSync(part, file)
    syncDirectory(dirname(file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    rmSync(part, { force: true })
  }
}

/** The name too. Windows does not open a directory. */
function syncDirectory(path: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
