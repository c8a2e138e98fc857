/**
 * Files that a server keeps beside the log and can do without. Whatever lies in their place, a pipe that nobody writes
 * to, a device, gigabytes, a start does not wait for it and has memory left. Nor is anything written through a link.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { privateMode } from './private-files.ts'

/** A pipe is opened without waiting for its other end. */
const flags = constants.O_RDONLY | constants.O_NONBLOCK

function assertKept(path: string, found: Stats, bytesMax: number): void {
  if (!found.isFile() || found.size > bytesMax)
    throw new Error(`${path} is not a file of at most ${bytesMax} bytes`)
}

/** Throws where it cannot be read, is no file or is larger than that. */
export async function readKept(path: string, bytesMax: number): Promise<Buffer> {
  const file = await open(path, flags)
  try {
    assertKept(path, await file.stat(), bytesMax)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** The same at once, for what is small. */
export function readKeptNow(path: string, bytesMax: number): string {
  const file = openSync(path, flags)
  try {
    assertKept(path, fstatSync(file), bytesMax)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Whole or not at all, and readable for the user alone. One at a time for each path. */
export async function replaceKept(path: string, data: string | Uint8Array): Promise<void> {
  const next = `${path}.new`
  await rm(next, { force: true })
  await writeFile(next, data, { mode: privateMode, flag: 'wx' })
  await rename(next, path)
}
