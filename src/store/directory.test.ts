import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { append, created, sent } from '../../test/kits/store.ts'
import { StoreFault } from './directory.ts'
import { applicationId, migrations } from './schema.ts'
import { sqliteStore } from './sqlite.ts'

const now = (): number => 0

function scratch(): { directory: string; file: string } {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-directory-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return { directory, file: join(directory, 'tieline.db') }
}

async function filled(): Promise<{ directory: string; file: string }> {
  const made = scratch()
  const store = sqliteStore({ directory: made.directory, now })
  await append(store, created('ses_a'))
  for (let n = 0; n < 40; n += 1)
    await append(store, sent('ses_a', `turn_${n}`, { text: `text ${n} `.repeat(400) }))
  await store.close()
  return made
}

/** As it is after a kill -9: what was acknowledged last is only in the write-ahead log. */
async function killed(): Promise<{ directory: string; file: string }> {
  const { directory } = scratch()
  const copied = scratch()
  const store = sqliteStore({ directory, now })
  await append(store, created('ses_a'))
  for (let n = 0; n < 40; n += 1)
    await append(store, sent('ses_a', `turn_${n}`, { text: `text ${n} `.repeat(400) }))
  for (const name of ['tieline.db', 'tieline.db-wal'])
    cpSync(join(directory, name), join(copied.directory, name))
  await store.close()
  expect(statSync(`${copied.file}-wal`).size).toBeGreaterThan(0)
  return copied
}

/** Everything that holds data; the lock, the index of the write-ahead log and an empty one hold none. */
const contents = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory)
      .filter(
        (name) =>
          !/-shm$|^owner\.lock/.test(name) &&
          !(name.endsWith('-wal') && statSync(join(directory, name)).size === 0),
      )
      .toSorted()
      .map((name) => [name, readFileSync(join(directory, name)).toString('base64')]),
  )

/** The refusal to open, after which every byte is as it was, and the lock is free. */
function catchRefusal(directory: string): string {
  const before = contents(directory)
  const tryOpening = (): string => {
    try {
      void sqliteStore({ directory, now }).close()
    } catch (error) {
      return error instanceof StoreFault ? error.message : `no StoreFault but ${String(error)}`
    }
    return 'it was opened'
  }
  const first = tryOpening()
  expect([first, contents(directory)]).toEqual([first, before])
  expect(tryOpening()).toBe(first)
  return first
}

function withPragma(file: string, pragma: string): void {
  const db = new DatabaseSync(file)
  db.exec(pragma)
  db.close()
}

test('what was written is there after closing and opening again', async () => {
  const { directory } = await filled()
  const store = sqliteStore({ directory, now })
  expect(store.lastSeq()).toBe(41)
  await store.close()
})

test('what a killed process acknowledged is there on opening', async () => {
  const { directory } = await killed()
  const store = sqliteStore({ directory, now })
  expect(store.lastSeq()).toBe(41)
  await store.close()
})

test('directories that are made for a log are the user’s alone, also those above it', async () => {
  const { directory } = scratch()
  const [above, below] = [join(directory, 'above'), join(directory, 'above', 'data')]
  await sqliteStore({ directory: below, now }).close()
  expect([above, below].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700])
})

test('a second opener in the same process is refused, and the directory is free after closing', async () => {
  const { directory } = scratch()
  const first = sqliteStore({ directory, now })
  expect(() => sqliteStore({ directory, now })).toThrow(StoreFault)
  expect(() => sqliteStore({ directory, now })).toThrow('in use by another Tieline process')
  await append(first, created('ses_a'))
  await first.close()
  const second = sqliteStore({ directory, now })
  expect(second.lastSeq()).toBe(1)
  await second.close()
})

test('a log of the first format is brought to the present one, with its waits and what was traced', async () => {
  const { directory, file } = scratch()
  const db = new DatabaseSync(file)
  db.exec(
    `${migrations[0] ?? ''}; insert into log_sessions values ('ses_a', 1);
    insert into waits values ('ses_a', 'ses_b', 'turn_a', 5);
    insert into log values (1, 0, '[{"type":"step.started","session":"ses_a","turn":null,"key":"k"}]');
    pragma application_id = ${applicationId}; pragma user_version = 1`,
  )
  db.close()
  const store = sqliteStore({ directory, now })
  await append(store, created('ses_a'))
  expect(store.db.prepare('select waiter, target, turn, until from waits').all()).toEqual([
    { waiter: 'ses_a', target: 'ses_b', turn: 'turn_a', until: 5 },
  ])
  expect(store.db.prepare('select session, key, ended from traced').all()).toEqual([
    { session: 'ses_a', key: 'k', ended: 0 },
  ])
  await store.close()
})

test('a log of a newer version is refused with both versions, and left as it is', async () => {
  const { directory, file } = await filled()
  withPragma(file, `pragma user_version = ${migrations.length + 1}`)
  const formats = `its format is ${migrations.length + 1}, this one knows ${migrations.length}`
  expect(catchRefusal(directory)).toContain(`newer Tieline (${formats}). Update Tieline`)
})

test('a log of a newer version whose last process was killed is left as it is, write-ahead log included', async () => {
  const { directory, file } = await killed()
  const db = new DatabaseSync(file)
  db.exec(`pragma user_version = ${migrations.length + 1}`)
  const copied = scratch()
  for (const name of ['tieline.db', 'tieline.db-wal'])
    cpSync(join(directory, name), join(copied.directory, name))
  db.close()
  expect(catchRefusal(copied.directory)).toContain('newer Tieline')
})

test('a database of another program is refused, and left as it is', () => {
  const { directory, file } = scratch()
  withPragma(file, 'create table theirs (a text); insert into theirs values (1)')
  expect(catchRefusal(directory)).toContain('is a database of another program. Choose another data directory')
})

test('a database of another program that has no tables yet is refused too, since it says whose it is', () => {
  const { directory, file } = scratch()
  withPragma(file, 'pragma application_id = 252006; pragma user_version = 1')
  expect(catchRefusal(directory)).toContain('another program')
})

test.each([
  ['text', 'Dear diary, '.repeat(100)],
  ['a short text', 'hello'],
  ['zeros', '\0'.repeat(8192)],
])('a file that is no database (%s) is refused, and left as it is', (_name, text) => {
  const { directory, file } = scratch()
  writeFileSync(file, text)
  expect(catchRefusal(directory)).toMatch(
    /damaged or is not a Tieline log\. It was left as it is: move it away, or restore it from a copy/,
  )
})

test.each([50, 4096, 20_000, 65_536])(
  'a log cut off after %i bytes is refused, and left as it is',
  async (size) => {
    const { directory, file } = await filled()
    expect(statSync(file).size).toBeGreaterThan(size)
    truncateSync(file, size)
    expect(catchRefusal(directory)).toContain('It was left as it is: move it away, or restore it from a copy')
  },
)

test('a log cut off to nothing whose write-ahead log is still there is refused, and left as it is', async () => {
  const { directory, file } = await killed()
  truncateSync(file, 0)
  expect(catchRefusal(directory)).toContain('It was left as it is')
})

test('a log with flipped bytes in the middle is refused, and left as it is', async () => {
  const { directory, file } = await filled()
  const bytes = readFileSync(file)
  const page = Math.floor(bytes.length / 4096 / 2) * 4096
  for (let at = page; at < page + 64; at += 1) bytes[at] = (bytes[at] ?? 0) ^ 0xff
  writeFileSync(file, bytes)
  expect(catchRefusal(directory)).toMatch(/damaged|cannot be read/)
})

test('a log with flipped bytes whose last process was killed is left as it is, write-ahead log included', async () => {
  const filledOnce = await filled()
  const store = sqliteStore({ directory: filledOnce.directory, now })
  await append(store, created('ses_b'))
  const copied = scratch()
  for (const name of ['tieline.db', 'tieline.db-wal'])
    cpSync(join(filledOnce.directory, name), join(copied.directory, name))
  await store.close()
  const bytes = readFileSync(copied.file)
  for (let page = 4096 * 4; page < bytes.length - 4096 * 4; page += 4096) bytes.fill(0xa5, page, page + 64)
  writeFileSync(copied.file, bytes)
  expect(catchRefusal(copied.directory)).toMatch(/damaged|cannot be read/)
})

test('an empty file is a new log', async () => {
  const { directory, file } = scratch()
  writeFileSync(file, '')
  const store = sqliteStore({ directory, now })
  await append(store, created('ses_a'))
  await store.close()
  expect(statSync(file).size).toBeGreaterThan(0)
})

test('a path that cannot be a directory is refused with its name', () => {
  const { directory } = scratch()
  const path = join(directory, 'taken')
  writeFileSync(path, 'x')
  expect(() => sqliteStore({ directory: path, now })).toThrow(StoreFault)
  expect(existsSync(path)).toBe(true)
})

test('a damaged lock is not taken for another process', () => {
  const { directory } = scratch()
  writeFileSync(
    join(directory, 'owner.lock'),
    'this is not a database at all, it is a text that somebody put here'.repeat(20),
  )
  expect(() => sqliteStore({ directory, now })).not.toThrow('in use by another Tieline process')
})
