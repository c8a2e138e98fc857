/**
 * What `tieline up` has written, so that `tieline down` takes back exactly that: for each file what it was before
 * and what it became. A file that was edited since keeps the edits, and loses only what was added.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { userDirectory } from '../../trust/config-text.ts'
import type { Surroundings } from './init-entries.ts'
import { readAt, removePart, type Part } from './jsonc-edit.ts'
import { parseJsonc } from './jsonc.ts'

/**
 * `before` is null where there was no file; `folders` were made for it, the innermost last; `parts` is what was
 * added, so that it is found again in a file that its program has written anew. A file that several share is written
 * once for each.
 */
export type Written = {
  of: string
  file: string
  before: string | null
  after: string
  folders: readonly string[]
  parts?: readonly Part[]
}

/** `adapters`: packages that were installed for agents. */
export type UpRecord = {
  written: readonly Written[]
  adapters: readonly { of: string; package: string; directory: string; folders: readonly string[] }[]
}

/** Where the record is. */
export const recordFile = ({ env, home }: Surroundings): string => join(userDirectory(env, home), 'up.json')

export function readRecord(at: Surroundings): UpRecord {
  const file = recordFile(at)
  const read = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Partial<UpRecord>) : {}
  return { written: read.written ?? [], adapters: read.adapters ?? [] }
}

/** Written before the files are, so that an interrupted `up` can be taken back too. None where nothing is left. */
export function keepRecord(at: Surroundings, record: UpRecord): void {
  const file = recordFile(at)
  if (record.written.length + record.adapters.length === 0) return rmSync(file, { force: true })
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 })
}

/** The folders on the way to a file that are not there yet, the outermost first. */
export function listMissing(file: string): string[] {
  const missing: string[] = []
  for (let folder = dirname(file); !existsSync(folder); folder = dirname(folder)) missing.unshift(folder)
  return missing
}

/** What a file is without what was added to it (null: no file); undefined where that was changed. */
export function takeBack(one: Written, now: string): string | null | undefined {
  if (now === one.after) return one.before
  const back = one.file.endsWith('.toml') ? cutToml(one, now) : cutJson(one, now)
  return one.before === null && (back?.trim() === '' || back?.trim() === '{}') ? null : back
}

/** By its place: its own program may have written the whole file anew. */
function cutJson({ before, parts = [] }: Written, now: string): string | undefined {
  try {
    const old = before === null || before.trim() === '' ? {} : parseJsonc(before)
    const wasThere = (path: readonly string[]): boolean => readAt(old, path) !== undefined
    return parts.reduce<string | undefined>(
      (text, part) => (text === undefined ? undefined : removePart(text, part, wasThere)),
      now,
    )
  } catch {
    // It is no JSON any more: somebody works on it.
    return undefined
  }
}

function cutToml(one: Written, now: string): string | undefined {
  return cutText(one, now) ?? (hasNone(one, now) ? now : undefined)
}

function hasNone({ parts = [] }: Written, now: string): boolean {
  try {
    const parsed: unknown = parseToml(now)
    return parts.length > 0 && parts.every(({ path }) => readAt(parsed, path) === undefined)
  } catch {
    // It is no TOML any more: somebody works on it.
    return false
  }
}

/** By its text, which nobody else wrote. */
function cutText({ before, after }: Written, now: string): string | undefined {
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

/**
 * The record without one that was taken back: who wrote to its file later has never seen it, and what it made a folder
 * for may still need that.
 */
export function withoutWritten(record: UpRecord, one: Written): UpRecord {
  const at = record.written.indexOf(one)
  const back = (text: string | null): string | null => {
    const without = text === null ? null : takeBack(one, text)
    return without === undefined ? text : without
  }
  const written = record.written.flatMap((other, index) =>
    index === at
      ? []
      : index < at || other.file !== one.file
        ? [other]
        : [{ ...other, before: back(other.before), after: back(other.after) ?? '' }],
  )
  return withFolders({ ...record, written }, one.folders)
}

export const withoutAdapter = (record: UpRecord, one: UpRecord['adapters'][number]): UpRecord =>
  withFolders({ ...record, adapters: record.adapters.filter((other) => other !== one) }, one.folders)

/** Whoever is taken back last looks after them. */
function withFolders({ written, adapters }: UpRecord, folders: readonly string[]): UpRecord {
  const give = <T extends { folders: readonly string[] }>([first, ...rest]: readonly T[]): T[] =>
    first === undefined ? [] : [{ ...first, folders: [...new Set([...folders, ...first.folders])] }, ...rest]
  return written.length > 0 ? { written: give(written), adapters } : { written, adapters: give(adapters) }
}

/** The folders that are empty now and were not there before. */
export function removeEmpty(folders: readonly string[]): void {
  for (const folder of folders.toReversed())
    if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder)
}
