/** Commits that are written and not durable yet: what others see of them, and what becomes of them. */
import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextRound } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { removeLater } from '../../test/kits/small-disk.ts'
import { append, created, keysOf, sent, testClock } from '../../test/kits/store.ts'
import type { EventOf } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import { CommitQueue } from './commit-queue.ts'
import { DamagedFile } from './file-check.ts'
import type { LogSync } from './log-sync.ts'
import { viewsEqual } from './rebuild.ts'
import { cleanAlready, sqliteStore } from './sqlite.ts'
import { openFiles } from './writer.ts'

type Waiting = { resolve: () => void; reject: (fault: Error) => void }

/** A disk that syncs when it is told to. */
function openSlow() {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-sync-'))
  removeLater(directory)
  const clock = testClock()
  const syncs: Waiting[] = []
  let isFast = true
  const openSync = (): LogSync => ({
    sync: () =>
      isFast ? Promise.resolve() : new Promise((resolve, reject) => syncs.push({ resolve, reject })),
    close: () => Promise.resolve(),
  })
  const store = sqliteStore({ directory, now: clock.now, openSync })
  const speedUp = (): void => {
    isFast = true
    for (const { resolve } of syncs.splice(0)) resolve()
  }
  onTestFinished(() => {
    speedUp()
    return store.close()
  })
  return {
    store,
    directory,
    syncs,
    slowDown: () => void (isFast = false),
    speedUp,
    later: () => clock.set(clock.now() + 5001),
  }
}

/** What it is now, after everybody had their turn a few times. */
async function soon<T>(promise: Promise<T>): Promise<T | 'waits'> {
  let state: T | 'waits' = 'waits'
  promise.then((value) => (state = value)).catch(() => undefined)
  for (let round = 0; round < 20; round += 1) await nextRound()
  return state
}

const archived = (session: SessionId): EventOf<'session.archived'> => ({
  type: 'session.archived',
  session,
  turn: null,
  cause: 'deleted',
})

const fault = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })

test('R2: nobody is told of a commit before the disk has it, and nobody reads of it', async () => {
  const { store, syncs, slowDown, speedUp } = openSlow()
  await append(store, created('ses_kept'))
  slowDown()
  const told = append(store, created('ses_slow')).then(() => 'told')
  const refused = store.transact([], async () => 'decided after it')
  expect(await soon(told)).toBe('waits')
  expect(await soon(refused)).toBe('waits')
  expect(syncs).toHaveLength(1)
  expect(store.lastSeq()).toBe(1)
  expect(await store.event(2)).toBeNull()
  expect(await store.read(0, {}, 10)).toMatchObject({ next: 1, more: false })
  expect([...store.transactions()].map(({ events }) => events.length)).toEqual([1])
  const reads = [
    store.session('ses_slow'),
    store.sessionFacts('ses_slow'),
    store.lists.sessionsLike('slow', 10),
    store.read(0, { sessions: ['ses_slow'] }, 10),
  ]
  for (const read of reads) expect(await soon(read as Promise<unknown>)).toBe('waits')
  speedUp()
  expect(await told).toBe('told')
  expect(await refused).toBe('decided after it')
  expect(await reads[0]).toMatchObject({ id: 'ses_slow' })
  expect(store.lastSeq()).toBe(2)
})

test('works that come while the disk is busy become durable together, with one sync', async () => {
  const { store, syncs, slowDown } = openSlow()
  slowDown()
  const first = append(store, created('ses_a'))
  await soon(first)
  const others = Array.from({ length: 20 }, (_, n) => append(store, created(`ses_${n}`)))
  expect(await soon(Promise.all(others))).toBe('waits')
  syncs.shift()?.resolve()
  await first
  expect(await soon(Promise.all(others))).toBe('waits')
  expect(syncs).toHaveLength(1)
  syncs.shift()?.resolve()
  await Promise.all(others)
})

test('who was not told because an urgent work waited is told while the disk has that one', async () => {
  const { store, syncs, slowDown } = openSlow()
  slowDown()
  const first = append(store, created('ses_first')).then(() => 'told')
  await soon(first)
  const urgent = store.transact(keysOf('ses_urgent'), async (tx) => tx.append(created('ses_urgent')), true)
  syncs.shift()?.resolve()
  expect(await soon(first)).toBe('told')
  expect(syncs).toHaveLength(1)
  expect(await soon(urgent.then(() => 'told'))).toBe('waits')
  syncs.shift()?.resolve()
  await urgent
})

test('what needs no sync has none: leases, refusals, and views that follow', async () => {
  const { store, syncs, slowDown } = openSlow()
  await append(store, created('ses_a'))
  slowDown()
  await store.heartbeat('node_a', 1000)
  await store.transact([], async () => 'no')
  expect(await store.lists.sessionsLike('a', 10)).toEqual(['ses_a'])
  expect(syncs).toHaveLength(0)
})

test('R2: a sync that fails is no yes; what it was about is found later, in the log itself', async () => {
  const { store, directory, syncs, slowDown, speedUp, later } = openSlow()
  await append(store, created('ses_kept'))
  slowDown()
  const unsure = append(store, created('ses_unsure'), sent('ses_unsure', 'turn_1'))
  await soon(unsure)
  const behind = append(store, created('ses_behind'))
  syncs.shift()?.reject(fault)
  for (const work of [unsure, behind])
    await expect(work).rejects.toMatchObject({ refusal: { code: 'store_unavailable' } })
  expect(store.health()).toMatchObject({ state: 'unavailable' })
  expect((await store.read(0, {}, 10)).events).toHaveLength(1)
  expect(store.lastSeq()).toBe(1)
  speedUp()
  later()
  const heard: string[] = []
  store.onHint((hints) => heard.push(...hints.map(({ kind }) => kind)))
  await store.transact([], async () => undefined)
  expect(store.health()).toEqual({ state: 'ok' })
  // Nobody was told of it when it was recorded: those who follow the log look for it now.
  expect(heard).toEqual(['appended'])
  expect((await store.read(0, {}, 10)).events.map(({ event }) => event.type)).toEqual([
    'session.created',
    'session.created',
    'message.sent',
  ])
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  // The kernel calls what it could not write written: a machine that dies now has only the log itself.
  const alone = join(directory, 'alone.db')
  copyFileSync(join(directory, 'tieline.db'), alone)
  const db = new DatabaseSync(alone, { readOnly: true })
  expect(db.prepare('select max(seq) as seq from log').get()).toEqual({ seq: 3 })
  db.close()
})

test('R2: a view showed a commit whose sync had failed: until the disk works nobody is answered from it', async () => {
  const { store, syncs, slowDown, speedUp, later } = openSlow()
  await append(store, created('ses_kept'))
  const readState = async (): Promise<unknown> => (await store.session('ses_kept'))?.archived
  slowDown()
  const covered = append(store, created('ses_covered'))
  await soon(covered)
  syncs.shift()?.reject(fault)
  const unavailable = { refusal: { code: 'store_unavailable' } }
  await expect(covered).rejects.toMatchObject(unavailable)
  // The views do not have it: reading goes on.
  expect(await readState()).toBe(false)
  expect(await store.lists.sessionsLike('covered', 10)).toEqual([])
  later()
  const unsure = append(store, archived('ses_kept'))
  await soon(unsure)
  const early = readState()
  syncs.shift()?.reject(fault)
  for (const answer of [unsure, early, readState(), store.lists.sessionsLike('kept', 10)])
    await expect(answer).rejects.toMatchObject(unavailable)
  // The log itself says what is durable.
  expect((await store.read(0, {}, 10)).next).toBe(2)
  speedUp()
  later()
  await store.transact([], async () => undefined)
  expect(await readState()).toBe('deleted')
})

test('a damage that is found while the disk syncs stays known: a sync that succeeds does not end it', async () => {
  const { now } = testClock()
  const syncs: Waiting[] = []
  const sync = (): Promise<void> => new Promise((resolve, reject) => syncs.push({ resolve, reject }))
  const files = {
    ...openFiles(':memory:', () => undefined),
    logSync: { sync, close: () => Promise.resolve() },
  }
  onTestFinished(() => files.db.close())
  const options = { now, elapsed: now, cleaner: cleanAlready, onHealth: () => undefined }
  const queue = new CommitQueue(files, options)
  const slow = queue.transact(keysOf('ses_slow'), async (tx) => tx.append(created('ses_slow')))
  await soon(slow)
  queue.outage.begin(new DamagedFile('a page is wrong'))
  syncs.shift()?.resolve()
  await slow
  expect(queue.outage.health()).toMatchObject({ state: 'unavailable' })
})

test('the views follow by themselves a moment later, so that whoever looks at the file finds them', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-later-'))
  removeLater(directory)
  const followers: (() => void)[] = []
  const store = sqliteStore({ directory, now: testClock().now, later: (run) => followers.push(run) })
  onTestFinished(() => store.close())
  const outside = new DatabaseSync(join(directory, 'tieline.db'), { readOnly: true })
  onTestFinished(() => outside.close())
  const turns = outside.prepare('select count(*) as n from turns')
  await append(store, created('ses_a'))
  const message = sent('ses_a', 'turn_1', { flow: 'flow_1' })
  await append(store, message)
  expect([turns.get(), followers.length]).toEqual([{ n: 0 }, 1])
  followers.shift()?.()
  expect(turns.get()).toEqual({ n: 1 })
  await append(store, sent('ses_a', 'turn_2', { flow: 'flow_2' }))
  expect(followers).toHaveLength(1)
})
