/**
 * What `tieline up` has written, so that `tieline down` takes back exactly that: for each file what it was before
 * and what it became. A file that was edited since keeps the edits, and loses only what was added.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { userDirectory } from '../../trust/config-text.ts'
import type { Surroundings } from './init-entries.ts'

/** `before` is null where there was no file; `folders` were made for it, the innermost last. */
export type Written = { file: string; before: string | null; after: string; folders: readonly string[] }

/** Where the record is. */
export const recordFile = ({ env, home }: Surroundings): string => join(userDirectory(env, home), 'up.json')

export function readWritten(at: Surroundings): Written[] {
  const file = recordFile(at)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { written: Written[] }).written : []
}

/** Written before the files are, so that an interrupted `up` can be taken back too. */
export function keepWritten(at: Surroundings, written: readonly Written[]): void {
  const file = recordFile(at)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, `${JSON.stringify({ written }, null, 2)}\n`, { mode: 0o600 })
}

/** The folders on the way to a file that are not there yet, the outermost first. */
export function listMissing(file: string): string[] {
  const missing: string[] = []
  for (let folder = dirname(file); !existsSync(folder); folder = dirname(folder)) missing.unshift(folder)
  return missing
}

/** What a file is without what was added to it; undefined where that can't be found in it any more. */
export function takeBack({ before, after }: Written, now: string): string | null | undefined {
  if (now === after) return before
  const old = before ?? ''
  let head = 0
  while (head < old.length && head < after.length && old[head] === after[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < after.length - head && old.at(-1 - tail) === after.at(-1 - tail))
    tail++
  const added = after.slice(head, after.length - tail)
  const place = now.indexOf(added)
  if (added === '' || place === -1 || now.indexOf(added, place + 1) !== -1) return undefined
  return now.slice(0, place) + old.slice(head, old.length - tail) + now.slice(place + added.length)
}

/** The record without what was taken back; none where nothing is left. */
export function forgetWritten(at: Surroundings, written: readonly Written[]): void {
  const file = recordFile(at)
  if (written.length > 0) return keepWritten(at, written)
  rmSync(file, { force: true })
}

/** The folders that are empty now and were not there before. */
export function removeEmpty(folders: readonly string[]): void {
  for (const folder of folders.toReversed())
    if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder)
}
