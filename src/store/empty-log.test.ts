import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { openDatabase } from './directory.ts'
import { placeEmptyLog } from './empty-log.ts'

const built = mkdtempSync(join(tmpdir(), 'tieline-empty-log-'))
const empty = join(built, 'empty-log.db')
beforeAll(() => {
  openDatabase(empty, null).close()
  return () => rmSync(built, { recursive: true })
})

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-new-log-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

const describe = (db: DatabaseSync): unknown => {
  const read = (text: string): unknown => db.prepare(text).all()
  const shown = [
    read('select type, name, tbl_name, sql from sqlite_schema'),
    ...['user_version', 'application_id', 'auto_vacuum', 'journal_mode', 'page_count'].map((name) =>
      read(`pragma ${name}`),
    ),
    read('pragma integrity_check'),
  ]
  db.close()
  return shown
}

test('a log that began as a copy is as one that SQLite made', () => {
  const directory = scratch()
  const [copied, made] = [join(directory, 'copied.db'), join(directory, 'made.db')]
  placeEmptyLog(copied, empty)
  expect(readFileSync(copied).equals(readFileSync(empty))).toBe(true)
  expect(statSync(copied).mode & 0o777).toBe(0o600)
  expect(describe(openDatabase(copied, empty))).toEqual(describe(openDatabase(made, null)))
  expect(readdirSync(directory).toSorted()).toEqual(['copied.db', 'made.db'])
})

test('what is there already stays: an empty file, a link, and what waits beside a log that is gone', () => {
  const directory = scratch()
  const at = (name: string): string => join(directory, name)
  writeFileSync(at('zero.db'), '')
  symlinkSync(at('elsewhere.db'), at('link.db'))
  writeFileSync(at('gone.db-wal'), 'a commit')
  writeFileSync(at('lost.db-journal'), 'a commit')
  for (const name of ['zero', 'link', 'gone', 'lost']) placeEmptyLog(at(`${name}.db`), empty)
  expect(statSync(at('zero.db')).size).toBe(0)
  expect(['elsewhere.db', 'gone.db', 'lost.db'].filter((name) => existsSync(at(name)))).toEqual([])
})

test('a part of a copy that a crash left is made again, and where nothing can be copied SQLite makes the log', () => {
  const directory = scratch()
  const file = join(directory, 'tieline.db')
  writeFileSync(`${file}-new`, 'SQLite for')
  placeEmptyLog(file, empty)
  expect(readdirSync(directory)).toEqual(['tieline.db'])
  const other = join(directory, 'other.db')
  openDatabase(other, join(directory, 'nothing.db')).close()
  expect(describe(openDatabase(other, null))).toEqual(describe(openDatabase(file, empty)))
})
