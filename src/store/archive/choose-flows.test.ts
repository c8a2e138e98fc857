import { onTestFinished, expect, test } from 'vitest'
import { superlinear } from '../../../test/kits/linear.ts'
import { append, created, ended, said, sent, started, testClock } from '../../../test/kits/store.ts'
import type { Event } from '../../model/event.ts'
import type { SessionId } from '../../model/id.ts'
import { sqliteStore, type SqliteStore } from '../sqlite.ts'
import { chooseFlows, type ChosenFlow } from './choose-flows.ts'
import { moveTurns } from './moved-lines.ts'
import { TimelineWindows } from './timeline-windows.ts'

const archived = (session: SessionId): Event => ({
  type: 'session.archived',
  session,
  turn: null,
  cause: 'idle',
})

/** Requests of these sessions in turn, each with an answer; `open` of a session are under way at once. */
async function filled(count: number, sessions: readonly SessionId[], open = 1): Promise<SqliteStore> {
  const store = sqliteStore({ directory: ':memory:', now: testClock().now })
  onTestFinished(() => store.close())
  const works = [append(store, ...sessions.map((session) => created(session)))]
  const end = (n: number): void => {
    const session = sessions[n % sessions.length] as SessionId
    const entry = said(2 * Math.floor(n / sessions.length) + 1, 'question', 'answer')
    works.push(append(store, started(session, `turn_${1000 + n}`)))
    works.push(append(store, ended(session, `turn_${1000 + n}`, 1, entry)))
  }
  for (let n = 0; n < count; n += 1) {
    const session = sessions[n % sessions.length] as SessionId
    works.push(append(store, sent(session, `turn_${1000 + n}`, { flow: `flow_${1000 + n}` })))
    if (n >= open - 1) end(n - open + 1)
  }
  for (let n = count - open + 1; n < count; n += 1) end(n)
  works.push(...sessions.map((session) => append(store, archived(session))))
  await Promise.all(works)
  return store
}

const choose = ({ db }: SqliteStore, windows?: TimelineWindows): ChosenFlow[] =>
  [...chooseFlows(db, Number.MAX_SAFE_INTEGER, windows)].filter((flow) => flow !== null)

const sizes = [50, 100, 200]

async function filledBySize(times: number): Promise<Map<number, SqliteStore>> {
  const stores = new Map<number, SqliteStore>()
  for (const size of sizes) stores.set(size, await filled(size * times, ['ses_a']))
  return stores
}

test('archiving read all of a session for each of its flows', async () => {
  const stores = await filledBySize(1)
  const make = (size: number) => stores.get(size) as SqliteStore
  expect(superlinear(50, make, (store) => choose(store))).toBe('')
})

test('archiving looked at all entries of a session for each of its turns', async () => {
  const stores = await filledBySize(8)
  const make = (size: number) => {
    const store = stores.get(size) as SqliteStore
    return { db: store.db, turns: choose(store).flatMap(({ turns }) => turns) }
  }
  const move = ({ db, turns }: ReturnType<typeof make>): void => {
    db.exec('begin')
    moveTurns(db, turns)
    db.exec('rollback')
  }
  expect(superlinear(50, make, move)).toBe('')
})

test.each([1, 7, 90])(
  'every row of %d flows at once is chosen, also where a timeline is known in parts',
  async (open) => {
    const store = await filled(600, ['ses_a', 'ses_b', 'ses_c'], open)
    const whole = choose(store)
    const { count } = store.db.prepare('select count(*) as count from log').get() as { count: number }
    expect(whole.flatMap(({ rows }) => rows)).toHaveLength(count - 1)
    const parts = choose(store, new TimelineWindows(store.db, { perWindow: 200, known: 450 }))
    expect(parts.map(({ flow, turns }) => [flow, turns])).toEqual(
      whole.map(({ flow, turns }) => [flow, turns]),
    )
    // The life of a session may be offered to several.
    const rowsOf = (chosen: ChosenFlow[]): Set<number> =>
      new Set(chosen.flatMap(({ rows }) => rows.map(({ seq }) => seq)))
    expect(rowsOf(parts)).toEqual(rowsOf(whole))
  },
)

test('each of the sessions of a flow was asked for the rows of all its turns', async () => {
  const store = await filled(1, ['ses_a'])
  const ids = Array.from({ length: 3200 }, (_, n) => 5000 + n)
  await Promise.all(
    ids.map((id) => append(store, created(`ses_${id}`, 'ephemeral'), sent(`ses_${id}`, `turn_${id}`))),
  )
  const make = (size: number) => {
    const windows = new TimelineWindows(store.db)
    const keys = new Set<string>(ids.slice(0, size).map((id) => `turn_${id}`))
    const wanted = ids.slice(0, size).map((id) => {
      const one = { session: `ses_${id}`, life: false, first: 0, last: 1_000_000, keys }
      expect([...windows.reach(one)].length).toBeLessThan(2)
      return one
    })
    return { windows, wanted }
  }
  const list = ({ windows, wanted }: ReturnType<typeof make>): number =>
    wanted.reduce((rows, one) => rows + [...windows.list(one)].length, 0)
  expect(list(make(800))).toBe(800)
  expect(superlinear(800, make, list)).toBe('')
})
