/** Groups that fail, and what becomes of the works around them. */
import { expect, onTestFinished, test } from 'vitest'
import { append, created, keysOf, sent, testClock } from '../../test/kits/store.ts'
import type { SessionId } from '../model/id.ts'
import type { Checkpoints } from './checkpoints.ts'
import { CommitQueue } from './commit-queue.ts'
import { DamagedFile } from './file-check.ts'
import { cleanAlready, sqliteStore } from './sqlite.ts'
import { openFiles, type OpenFiles } from './writer.ts'

/** As many as one group has. */
const groupMax = 256

test('R2: works that were committed were not told so when an urgent one after them was not written', async () => {
  const store = sqliteStore({ directory: ':memory:', now: testClock().now })
  await append(store, created('ses_a'))
  const { page_count: pages } = store.db.prepare('pragma page_count').get() as { page_count: number }
  store.db.exec(`pragma max_page_count = ${pages + 2}`)
  let urgent: Promise<unknown> = Promise.resolve()
  /** It comes while the last one runs that has room in the group. */
  const comeNow = (): void => {
    const large = sent('ses_a', 'turn_1', { text: 'x'.repeat(2_000_000) })
    urgent = store.transact(keysOf('ses_a'), async (tx) => tx.append(large), true)
    urgent.catch(() => undefined)
  }
  const works = Array.from({ length: groupMax }, (_, n) =>
    store.transact([], async () => {
      if (n === groupMax - 1) comeNow()
      return n
    }),
  )
  // It would wait for ever for those that nobody tells.
  const closed = Promise.all(works).then(() => store.close())
  await expect(Promise.all(works)).resolves.toHaveLength(groupMax)
  await expect(urgent).rejects.toMatchObject({ refusal: { code: 'store_unavailable' } })
  await closed
})

test('a damage that is found while works wait stays known: none of them ends it by succeeding', async () => {
  const { now } = testClock()
  const files = openFiles(':memory:', () => undefined)
  onTestFinished(() => files.db.close())
  const options = { now, elapsed: now, cleaner: cleanAlready, onHealth: () => undefined }
  const queue = new CommitQueue(files, options)
  const waiting = queue.transact([], async () => undefined)
  queue.outage.begin(new DamagedFile('a page is wrong'))
  await expect(waiting).rejects.toMatchObject({ refusal: { code: 'store_unavailable' } })
  expect(queue.outage.health()).toMatchObject({ state: 'unavailable' })
})

/** A queue over a log in memory, in which time passes as it is told to. */
function queueIn(more: Partial<OpenFiles> = {}, elapsed = (): number => 0): CommitQueue {
  const files = { ...openFiles(':memory:', () => undefined), ...more }
  onTestFinished(() => files.db.close())
  return new CommitQueue(files, {
    now: () => 1000,
    elapsed,
    cleaner: cleanAlready,
    onHealth: () => undefined,
  })
}

const record = (queue: CommitQueue, session: SessionId): Promise<void> =>
  queue.transact(keysOf(session), async (tx) => tx.append(created(session)))

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('R11: a group ends when its time is over, however few works it has', async () => {
  let now = 0
  const queue = queueIn({}, () => (now += 10))
  await Promise.all(Array.from({ length: 12 }, (_, n) => record(queue, `ses_${n}`)))
  expect(queue.commits).toBeGreaterThanOrEqual(4)
})

test('whoever waits for the end of a queue finds everybody told', async () => {
  const queue = queueIn()
  let told = 0
  for (let n = 0; n < 200; n += 1) void record(queue, `ses_${n}`).then(() => (told += 1))
  await queue.drain()
  expect(told).toBe(200)
  await expect(record(queue, 'ses_late')).rejects.toThrow('the store is closed')
})

test('while the file beside the log begins again nobody commits, and those who were committed know it', async () => {
  const restarted = Promise.withResolvers<void>()
  const asked: unknown[] = []
  const checkpoints = {
    afterCommit: (db: unknown) => (asked.push(db), asked.length === 1 ? restarted.promise : null),
  } as unknown as Checkpoints
  const queue = queueIn({ checkpoints })
  await record(queue, 'ses_a')
  const next = record(queue, 'ses_b')
  for (let round = 0; round < 20; round += 1) await nextRound()
  expect([queue.commits, asked.length]).toEqual([1, 1])
  restarted.resolve()
  await next
  expect([queue.commits, asked.length]).toEqual([2, 2])
})

test('R2: what cannot be recorded fails its own work alone, and leaves no gap in the numbers', async () => {
  const queue = queueIn()
  await record(queue, 'ses_a')
  const works = ['ses_b', 'ses_a', 'ses_c'].map((session) => record(queue, session as SessionId))
  const settled = await Promise.allSettled(works)
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect([queue.durable, queue.outage.isOver()]).toEqual([3, true])
  const rows = queue.writer.db.prepare('select seq from log order by seq').all()
  expect(rows).toEqual([{ seq: 1 }, { seq: 2 }, { seq: 3 }])
})
