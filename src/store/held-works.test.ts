/** Works whose texts take long to look at: they are held while others run, keep their order, and run again. */
import { expect, onTestFinished, test } from 'vitest'
import { append, created, keysOf, sent, testClock } from '../../test/kits/store.ts'
import type { Event } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import type { Cleaner } from '../runtime/kernel/store-port.ts'
import { viewsEqual } from './rebuild.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'
import { WorkQueue } from './work-queue.ts'

/** Texts that begin with `slow` take long, until somebody lets them go. */
class SlowCleaner implements Cleaner {
  readonly waiting: ((fault?: Error) => void)[] = []
  clean(events: readonly Event[], known: unknown = null): readonly Event[] | null | undefined {
    const slow = events.some((event) => 'text' in event && event.text.startsWith('slow'))
    return slow && known === null ? undefined : null
  }
  inspect(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.waiting.push((fault) => (fault === undefined ? resolve('known') : reject(fault)))
    })
  }
  async held(count: number): Promise<void> {
    while (this.waiting.length < count) await round()
  }
}

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function guarded(): { store: SqliteStore; cleaner: SlowCleaner } {
  const cleaner = new SlowCleaner()
  const store = sqliteStore({ directory: ':memory:', now: testClock().now, cleaner })
  onTestFinished(() => store.close())
  return { store, cleaner }
}

const said = (session: SessionId, n: number, text: string): Promise<void> =>
  append(current, sent(session, `turn_${n}`, { text }))
let current: SqliteStore

const listTexts = async (store: SqliteStore): Promise<string[]> =>
  (await store.read(0, { types: ['message.sent'] }, 100)).events.map(({ event }) =>
    'text' in event ? event.text : '',
  )

test('while one is looked at, works of others are done, and those with a key of it wait behind it', async () => {
  const { store, cleaner } = guarded()
  current = store
  await append(store, created('ses_a'), created('ses_b'), created('ses_c'))
  const done: string[] = []
  const note = (name: string, work: Promise<void>): Promise<void> => work.then(() => void done.push(name))
  const all = [
    note('slow a', said('ses_a', 1, 'slow a')),
    note('a', said('ses_a', 2, 'a')),
    note('b', said('ses_b', 3, 'b')),
    // It names a key of one that waits, so it waits too; and so does who names a key of it.
    note(
      'a and c',
      store.transact(keysOf('ses_a', 'ses_c'), async (tx) =>
        tx.append(sent('ses_c', 'turn_4', { text: 'a and c' })),
      ),
    ),
    note('c', said('ses_c', 5, 'c')),
  ]
  await cleaner.held(1)
  for (let n = 0; n < 20; n += 1) await round()
  expect(done).toEqual(['b'])
  await said('ses_b', 6, 'b again')
  cleaner.waiting[0]?.()
  await Promise.all(all)
  expect(await listTexts(store)).toEqual(['b', 'b again', 'slow a', 'a', 'a and c', 'c'])
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('R1: what was decided before the look is decided again after it', async () => {
  const { store, cleaner } = guarded()
  await append(store, created('ses_a'))
  const seen: (number | undefined)[] = []
  const work = store.transact(keysOf('ses_a'), async (tx) => {
    // A fact that others may change meanwhile, as they hold another key.
    seen.push((await tx.session('ses_a')).session?.createdAt)
    tx.append(sent('ses_a', 'turn_1', { text: 'slow' }))
    return seen.length
  })
  await cleaner.held(1)
  expect(await listTexts(store)).toEqual([])
  cleaner.waiting[0]?.()
  expect(await work).toBe(2)
  expect(await listTexts(store)).toEqual(['slow'])
})

test('a look that breaks is the fault of that work alone, and the next one with its keys goes on', async () => {
  const { store, cleaner } = guarded()
  current = store
  await append(store, created('ses_a'))
  const [broken, next] = [said('ses_a', 1, 'slow'), said('ses_a', 2, 'next')]
  await cleaner.held(1)
  cleaner.waiting[0]?.(new Error('it broke'))
  await expect(broken).rejects.toThrow('it broke')
  await next
  expect(await listTexts(store)).toEqual(['next'])
})

test('one that cannot be written takes none with it that is held', async () => {
  const { store, cleaner } = guarded()
  current = store
  await append(store, created('ses_a'), created('ses_b'))
  const held = said('ses_a', 1, 'slow')
  await cleaner.held(1)
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const [bad, good] = [
    append(store, { ...sent('ses_b', 'turn_2'), use: { tool: 't', input: circle } } as never),
    said('ses_b', 3, 'good'),
  ]
  await expect(bad).rejects.toThrow('not JSON')
  await good
  for (const goOn of cleaner.waiting) goOn()
  await held
  expect(await listTexts(store)).toEqual(['good', 'slow'])
})

test('closing waits for what is held', async () => {
  const { store, cleaner } = guarded()
  current = store
  await append(store, created('ses_a'))
  const held = said('ses_a', 1, 'slow')
  await cleaner.held(1)
  let closed = false
  const closing = store.close().then(() => (closed = true))
  for (let n = 0; n < 5; n += 1) await round()
  expect(closed).toBe(false)
  cleaner.waiting[0]?.()
  await Promise.all([held, closing])
})

test('of those that wait the first that nobody before it blocks is next, whatever was held', () => {
  const queue = new WorkQueue<{ name: string; keys: `session:${string}`[] }>()
  const work = (name: string, ...keys: string[]) => ({
    name,
    keys: keys.map((key) => `session:${key}` as const),
  })
  const works = [work('1', 'a'), work('2', 'a', 'b'), work('3', 'b'), work('4', 'c'), work('5')]
  for (const one of works) queue.push(one)
  const first = queue.take()
  expect(first).toBe(works[0])
  queue.hold(works[0] as (typeof works)[0])
  expect([queue.take()?.name, queue.take()?.name, queue.take()]).toEqual(['4', '5', undefined])
  expect(queue.isEmpty()).toBe(false)
  queue.endRound()
  queue.push(work('6', 'b'))
  expect(queue.take()).toBeUndefined()
  queue.endRound()
  queue.release(works[0] as (typeof works)[0])
  expect(Array.from({ length: 5 }, () => queue.take()?.name)).toEqual(['1', '2', '3', '6', undefined])
  queue.endRound()
  expect(queue.isEmpty()).toBe(true)
})

test('an urgent work goes before all others, but not before one that is held and has one of its keys', () => {
  const queue = new WorkQueue<{ name: string; keys: `session:${string}`[]; urgent?: boolean }>()
  const take = (): string | undefined => queue.take()?.name
  queue.push({ name: 'held', keys: ['session:a'] })
  const held = queue.take()
  if (held === undefined) throw new Error('nothing was taken')
  queue.hold(held)
  queue.endRound()
  queue.push({ name: 'plain', keys: ['session:b'] })
  queue.push({ name: 'behind', keys: ['session:a'], urgent: true })
  queue.push({ name: 'urgent', keys: ['session:b'], urgent: true })
  expect(queue.hasUrgent()).toBe(true)
  expect([take(), take(), take()]).toEqual(['urgent', 'plain', undefined])
  expect(queue.hasUrgent()).toBe(false)
  queue.endRound()
  queue.release(held)
  expect([take(), take(), take()]).toEqual(['held', 'behind', undefined])
})

test('an urgent work passed one that was held: it came while that one was deciding, and the group was full', () => {
  const queue = new WorkQueue<{ name: string; keys: `session:${string}`[]; urgent?: boolean }>()
  queue.push({ name: 'held', keys: ['session:a'] })
  const held = queue.take()
  if (held === undefined) throw new Error('nothing was taken')
  queue.push({ name: 'behind', keys: ['session:a'], urgent: true })
  queue.push({ name: 'urgent', keys: ['session:b'], urgent: true })
  queue.hold(held)
  queue.endRound()
  expect([queue.take()?.name, queue.take()]).toEqual(['urgent', undefined])
  queue.endRound()
  queue.release(held)
  expect([queue.take()?.name, queue.take()?.name, queue.take()]).toEqual(['held', 'behind', undefined])
})

test('what was passed over in a round comes before what came during it', () => {
  const queue = new WorkQueue<{ name: string; keys: `session:${string}`[] }>()
  const take = (): string | undefined => queue.take()?.name
  queue.push({ name: 'held', keys: ['session:a'] })
  queue.push({ name: 'behind', keys: ['session:a'] })
  const held = queue.take()
  if (held === undefined) throw new Error('nothing was taken')
  queue.hold(held)
  expect(take()).toBeUndefined()
  queue.push({ name: 'later', keys: ['session:a'] })
  queue.endRound()
  queue.release(held)
  expect([take(), take(), take()]).toEqual(['held', 'behind', 'later'])
})
