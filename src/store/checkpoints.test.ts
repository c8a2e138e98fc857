import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { append, created, sent } from '../../test/kits/store.ts'
import { canAsk, Checkpoints, readPages } from './checkpoints.ts'
import { sqliteStore } from './sqlite.ts'

const sizes = { passed: 64, last: 8, restarted: 128, alone: 1024 }
const pageBytes = 4096

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-checkpoints-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

function openPages(directory = scratch()) {
  const file = join(directory, 'pages.db')
  // As the store's own: the thread may have the lock for its last pages.
  const db = new DatabaseSync(file, { timeout: 5000 })
  db.exec('pragma journal_mode = wal; create table pages (bytes blob)')
  onTestFinished(() => db.close())
  const look = db.prepare('pragma wal_checkpoint(noop)')
  const insert = db.prepare('insert into pages values (zeroblob(3000))')
  return {
    file,
    db,
    pages: () => readPages(look),
    readOwnLimit: () => db.prepare('pragma wal_autocheckpoint').get()?.['wal_autocheckpoint'],
    /** Eight commits: as often somebody looks. */
    write: (checkpoints: Checkpoints): void => {
      for (let commit = 0; commit < 8; commit += 1) {
        insert.run()
        void checkpoints.afterCommit(db)
      }
    },
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 3000; tries += 1) {
    if (isSo()) return
    await sleep(10)
  }
  throw new Error('it does not come about')
}

test('a thread writes what was committed to the log, and the file beside it begins again', async () => {
  const { file, db, pages, write } = openPages()
  const checkpoints = new Checkpoints(file, sizes)
  let [longest, restarts] = [0, 0]
  // Until the thread is there, SQLite may begin the file again by itself.
  for (let last = 0; restarts < 2 || checkpoints.passes <= 2;) {
    write(checkpoints)
    const { log } = pages()
    if (log < last) restarts += 1
    last = log
    longest = Math.max(longest, log)
    await sleep(1)
  }
  expect(longest).toBeLessThanOrEqual(2 * sizes.alone)
  const rows = (db.prepare('select count(*) as n from pages').get() as { n: number }).n
  await checkpoints.close()
  const alone = new DatabaseSync(file, { readOnly: true })
  expect(alone.prepare('select count(*) as n from pages').get()).toEqual({ n: rows })
  alone.close()
})

test('while somebody reads what is old, the thread does not try again and again', async () => {
  const { file, pages, write } = openPages()
  const checkpoints = new Checkpoints(file, sizes)
  write(checkpoints)
  const reader = new DatabaseSync(file, { readOnly: true })
  reader.exec('begin')
  reader.prepare('select count(*) from pages').get()
  for (let round = 0; round < 60; round += 1) {
    write(checkpoints)
    await sleep(1)
  }
  expect(checkpoints.passes).toBeLessThanOrEqual(pages().log / sizes.passed + 1)
  reader.close()
  for (let last = pages().log; pages().log >= last;) {
    last = pages().log
    write(checkpoints)
    await sleep(1)
  }
  await checkpoints.close()
})

test('where the thread cannot work, SQLite makes checkpoints by itself', async () => {
  const { db, write, pages, readOwnLimit } = openPages()
  const checkpoints = new Checkpoints(join(scratch(), 'missing', 'pages.db'), sizes)
  for (let round = 0; round < 4; round += 1) write(checkpoints)
  expect(readOwnLimit()).toBe(sizes.alone)
  await until(() => readOwnLimit() === 4000)
  for (let round = 0; round < 20; round += 1) write(checkpoints)
  expect(checkpoints.passes).toBe(0)
  const before = pages().log
  db.exec('pragma wal_autocheckpoint = 8')
  write(checkpoints)
  expect(pages().log).toBeLessThan(before)
  await checkpoints.close()
})

test('a store whose log has grown leaves nothing beside it when it is closed', async () => {
  const directory = scratch()
  const beside = join(directory, 'tieline.db-wal')
  const store = sqliteStore({ directory, now: () => 0 })
  await append(store, created('ses_a'))
  for (let group = 0; group < 60; group += 1)
    await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        append(store, sent('ses_a', `turn_${group}-${n}`, { text: `text ${n} `.repeat(400) })),
      ),
    )
  expect(statSync(beside).size).toBeLessThan(17_000 * pageBytes)
  await store.close()
  expect(existsSync(beside)).toBe(false)
  const again = sqliteStore({ directory, now: () => 0 })
  expect(again.lastSeq()).toBe(3001)
  await again.close()
})

test('a process that only closes its store ended before the thread had', () => {
  const module = JSON.stringify(new URL('checkpoints.ts', import.meta.url).href)
  const file = JSON.stringify(join(scratch(), 'pages.db'))
  const program = `
    import { DatabaseSync } from 'node:sqlite'
    import { Checkpoints } from ${module}
    const db = new DatabaseSync(${file})
    db.exec('pragma journal_mode = wal; create table pages (bytes blob)')
    const checkpoints = new Checkpoints(${file}, ${JSON.stringify(sizes)})
    for (let commit = 0; commit < 64; commit += 1) {
      db.exec('insert into pages values (zeroblob(3000))')
      checkpoints.afterCommit(db)
    }
    await checkpoints.close()
    db.close()
    console.log('closed')`
  const ran = spawnSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', program])
  expect({ out: ran.stdout.toString(), code: ran.status }).toEqual({ out: 'closed\n', code: 0 })
})

test('commits wait only for the last few pages; the file beside the log begins again then', async () => {
  const { file, db, pages } = openPages()
  const checkpoints = new Checkpoints(file, sizes)
  for (let round = 0; round < 2 * sizes.restarted; round += 1)
    db.exec('insert into pages values (zeroblob(3000))')
  const waits: (Promise<void> | null)[] = []
  for (let commit = 0; commit < 8; commit += 1) {
    db.exec('insert into pages values (zeroblob(3000))')
    waits.push(checkpoints.afterCommit(db))
  }
  // All of it is left: the thread writes it while others go on.
  expect(waits).toEqual(Array(8).fill(null))
  await until(() => checkpoints.passes === 1)
  const before = pages().log
  const restarting = checkpoints.afterCommit(db)
  expect(restarting).toBeInstanceOf(Promise)
  await restarting
  expect(pages().log).toBeLessThan(before)
  await checkpoints.close()
})

test('commits that wait for a thread that cannot work go on', async () => {
  const { db, readOwnLimit } = openPages()
  const missing = join(scratch(), 'missing', 'pages.db')
  const checkpoints = new Checkpoints(missing, { ...sizes, last: 1000, restarted: 1 })
  let waiting: Promise<void> | null = null
  for (let commit = 0; commit < 8; commit += 1) {
    db.exec('insert into pages values (zeroblob(3000))')
    waiting = checkpoints.afterCommit(db)
  }
  let went = false
  expect(waiting).toBeInstanceOf(Promise)
  void waiting?.then(() => (went = true))
  await until(() => readOwnLimit() === 4000)
  expect(went).toBe(true)
  await checkpoints.close()
})

test('a connection that takes the place of another leaves checkpoints to the thread too', async () => {
  const { file, write } = openPages()
  const checkpoints = new Checkpoints(file, sizes)
  for (let round = 0; round < 16 && checkpoints.passes === 0; round += 1) {
    write(checkpoints)
    await sleep(1)
  }
  await until(() => checkpoints.passes > 0)
  const other = new DatabaseSync(file)
  onTestFinished(() => other.close())
  for (let commit = 0; commit < 8; commit += 1) {
    other.exec('insert into pages values (zeroblob(3000))')
    void checkpoints.afterCommit(other)
  }
  expect(other.prepare('pragma wal_autocheckpoint').get()).toEqual({ wal_autocheckpoint: sizes.alone })
  await checkpoints.close()
})

test.each([
  ['3.50.4', false],
  ['3.51.0', true],
  ['3.9.99', false],
  ['4.0.0', true],
  ['2.99.0', false],
])('SQLite %s can be asked how long the file beside the log is: %s', (version, can) => {
  const prepare = () => ({ get: () => ({ version }) })
  expect(canAsk({ prepare } as unknown as DatabaseSync)).toBe(can)
})
