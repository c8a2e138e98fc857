/** The thread that makes commits durable: what it waits for, what it says, and what happens without it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { close, closeSync, mkdtempSync, open, openSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextRound } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { removeLater } from '../../test/kits/small-disk.ts'
import { append, created } from '../../test/kits/store.ts'
import { openLogSync, type LogSync } from './log-sync.ts'
import { sqliteStore } from './sqlite.ts'

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-thread-'))
  removeLater(directory)
  return directory
}

const makePipe = (path: string): void => void execFileSync('mkfifo', [path])

/** On the main thread it is over before anybody else has a turn. */
async function isMadeHere(sync: LogSync): Promise<boolean> {
  let isOver = false
  const made = sync.sync().finally(() => (isOver = true))
  for (let job = 0; job < 20; job += 1) await Promise.resolve()
  const here = isOver
  await made
  return here
}

async function openThreaded(): Promise<{ sync: LogSync; thread: Worker }> {
  const log = join(scratch(), 'tieline.db')
  writeFileSync(`${log}-wal`, 'x')
  const threads: Worker[] = []
  const note = (thread: Worker): void => void threads.push(thread)
  process.on('worker', note)
  const sync = openLogSync(log)
  onTestFinished(() => sync.close())
  expect(await isMadeHere(sync)).toBe(true)
  await vi.waitUntil(async () => !(await isMadeHere(sync)), { timeout: 20_000 })
  process.off('worker', note)
  return { sync, thread: threads[0] as Worker }
}

test('the event loop goes on while the disk takes its time, once the thread is there', async () => {
  const { sync } = await openThreaded()
  for (let time = 0; time < 50; time += 1) expect(await isMadeHere(sync)).toBe(false)
})

test('a thread that ends takes nothing with it: what it was asked for is made on the main thread', async () => {
  const { sync, thread } = await openThreaded()
  const ends = thread.terminate()
  let isMade = false
  void sync.sync().then(() => (isMade = true))
  await ends
  for (let round = 0; round < 20; round += 1) await nextRound()
  expect(isMade).toBe(true)
  expect(await isMadeHere(sync)).toBe(true)
})

const fault = { code: 'EINVAL', message: expect.stringContaining('fdatasync') }

/** A pipe in the place of the file cannot be synced. */
async function openFailing(): Promise<{ sync: LogSync; thread: Worker }> {
  const log = join(scratch(), 'tieline.db')
  makePipe(`${log}-wal`)
  const sync = openLogSync(log)
  onTestFinished(() => sync.close())
  const started = new Promise<Worker>((resolve) =>
    process.once('worker', (thread: Worker) => thread.once('message', () => resolve(thread))),
  )
  await expect(sync.sync()).rejects.toMatchObject(fault)
  return { sync, thread: await started }
}

test('a fault of the disk has its code on either thread', async () => {
  const { sync } = await openFailing()
  await expect(sync.sync()).rejects.toMatchObject(fault)
})

test('R2: what a thread that died was asked for does not count as done', async () => {
  const { sync, thread } = await openFailing()
  const ends = thread.terminate()
  await expect(sync.sync()).rejects.toMatchObject(fault)
  await ends
})

test('the file is closed after its thread has ended', async () => {
  const log = join(scratch(), 'tieline.db')
  writeFileSync(`${log}-wal`, 'x')
  const started = new Promise<Worker>((resolve) => process.once('worker', resolve))
  const sync = openLogSync(log)
  await sync.sync()
  const thread = await started
  let isOver = false
  thread.once('exit', () => (isOver = true))
  await sync.close()
  expect(isOver).toBe(true)
})

test('a thread that waits for nothing does not keep a process alive', () => {
  const log = join(scratch(), 'tieline.db')
  writeFileSync(`${log}-wal`, 'x')
  const program = `
    const { openLogSync } = await import(${JSON.stringify(new URL('log-sync.ts', import.meta.url).href)})
    const sync = openLogSync(${JSON.stringify(log)})
    const started = new Promise((resolve) => process.once('worker', (thread) => thread.once('message', resolve)))
    await sync.sync()
    const alive = setInterval(() => undefined, 1000)
    await started
    clearInterval(alive)
    await sync.sync()
    console.log('synced')`
  const file = join(scratch(), 'program.mjs')
  writeFileSync(file, program)
  const run = spawnSync(process.execPath, [file], { encoding: 'utf8', timeout: 30_000 })
  expect([run.status, run.stdout]).toEqual([0, 'synced\n'])
})

test('files of others that hang do not hold up a commit', async () => {
  const directory = scratch()
  const pipe = join(directory, 'pipe')
  makePipe(pipe)
  const store = sqliteStore({ directory: join(directory, 'data'), now: () => 0 })
  await append(store, created('ses_first'))
  // As many as Node has threads for files: each waits for a writer that never comes.
  const opened = Array.from(
    { length: 4 },
    () => new Promise<void>((resolve) => open(pipe, 'r', (_fault, handle) => close(handle, () => resolve()))),
  )
  onTestFinished(async () => {
    const writer = openSync(pipe, 'r+')
    await Promise.all(opened)
    closeSync(writer)
    await store.close()
  })
  for (let n = 0; n < 50; n += 1) await append(store, created(`ses_${n}`))
  expect(store.lastSeq()).toBe(51)
})
