/** The thread that makes commits durable: what it waits for, what it says, and what happens without it. */
import { execFileSync } from 'node:child_process'
import { close, closeSync, mkdtempSync, open, openSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  for (let time = 0; time < 20; time += 1) await sync.sync()
  await ends
  expect(await isMadeHere(sync)).toBe(true)
})

test('a fault of the disk has its code on either thread', async () => {
  const log = join(scratch(), 'tieline.db')
  makePipe(`${log}-wal`)
  const sync = openLogSync(log)
  onTestFinished(() => sync.close())
  const isReady = new Promise<void>((resolve) =>
    process.once('worker', (thread: Worker) => thread.once('message', () => resolve())),
  )
  const fault = { code: 'EINVAL', message: expect.stringContaining('fdatasync') }
  await expect(sync.sync()).rejects.toMatchObject(fault)
  await isReady
  await expect(sync.sync()).rejects.toMatchObject(fault)
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
