import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '../model/event.ts'
import type { TurnId } from '../model/id.ts'
import { append, ended, mailed, running, said, testClock } from '../../test/kits/store.ts'
import type { Turn } from '../../test/kits/call-world.ts'
import { World } from '../../test/kits/mail-world.ts'
import { rebuild, viewsEqual } from './rebuild.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'
import { viewsProblem } from './views-belong.ts'

function memory(now = testClock().now): SqliteStore {
  const store = sqliteStore({ directory: ':memory:', now })
  onTestFinished(() => store.close())
  return store
}

/** What a turn's calls hold or have used, counted from the model of the world rather than from deltas. */
function countBelow(world: World, turn: Turn, ran: ReadonlySet<TurnId>): number {
  return world.turns
    .filter(({ caller }) => caller === turn)
    .reduce((sum, callee) => {
      if (callee.state !== 'ended') return sum + callee.held
      return sum + (ran.has(callee.id) ? callee.used + countBelow(world, callee, ran) : 0)
    }, 0)
}

const acts = fc.array(fc.tuple(fc.nat(15), fc.array(fc.nat(1000), { minLength: 4, maxLength: 4 })), {
  minLength: 5,
  maxLength: 80,
  size: 'max',
})

async function live(
  store: SqliteStore,
  chosen: readonly (readonly [number, readonly number[]])[],
): Promise<{ world: World; events: Event[] }> {
  let chances: number[] = []
  const world = new World((count) => (chances.shift() ?? 0) % count)
  const all: Event[] = []
  for (const [kind, chance] of chosen) {
    chances = [...chance]
    const events = world.act(kind)
    if (events.length > 0) await append(store, ...events)
    all.push(...events)
  }
  return { world, events: all }
}

test('R10: whatever happens, the live views are the fold of the log, and a rebuild gives the same', async () => {
  await fc.assert(
    fc.asyncProperty(acts, async (chosen) => {
      const store = memory()
      await live(store, chosen)
      expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
      expect(viewsProblem(store.db)).toBeNull()
      const before = await store.turns({ flow: 'flow_1' }, 1000)
      rebuild(store.db)
      expect(await store.turns({ flow: 'flow_1' }, 1000)).toEqual(before)
      expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
    }),
    { numRuns: 60 },
  )
})

test('R7: a turn with a budget counts what its running calls hold and its stopped ones used', async () => {
  await fc.assert(
    fc.asyncProperty(acts, async (chosen) => {
      const store = memory()
      const { world, events } = await live(store, chosen)
      const ran = new Set(
        events.flatMap((event) => (event.type === 'turn.started' && event.turn !== null ? [event.turn] : [])),
      )
      for (const turn of world.turns.filter(({ held }) => held > 0))
        expect([turn.id, (await store.turn(turn.id))?.tokensBelow]).toEqual([
          turn.id,
          countBelow(world, turn, ran),
        ])
    }),
    { numRuns: 60 },
  )
})

const damages: [string, string][] = [
  ['a row is missing', `delete from turns where id = 'turn_a'`],
  ['a row is too many', `insert into waits values ('ses_x', 'ses_y', 'turn_x', 1)`],
  ['a value is other', 'update turns set tokens_used = tokens_used + 1'],
  ['a message has gone', 'delete from messages'],
  ['a message has moved', `update messages set state = 'handed', waiting = 0`],
  ['a timeline lacks an event', 'delete from log_sessions'],
  ['a text is other', `update entries set text = 'forged'`],
]
test.each(damages)('R10: it is seen and repaired where %s', async (_name, damage) => {
  const store = memory()
  await append(
    store,
    ...running('a'),
    ended('ses_a', 'turn_a', 3, said(1, 'x', 'y')),
    mailed('ses_b', 'ses_a', 'msg_1'),
  )
  expect(viewsEqual(store.db).equal).toBe(true)
  store.db.exec(damage)
  expect(viewsEqual(store.db)).toMatchObject({
    equal: false,
    difference: expect.stringMatching(/^\w+: the view has .+, the fold of the log has .+/),
  })
  rebuild(store.db)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('a rebuild that fails leaves the views as they were', async () => {
  const store = memory()
  await append(store, ...running('a'))
  const unknown = { ...ended('ses_a', 'turn_unknown'), tokensUsed: 0, entry: null }
  store.db.prepare('insert into log values (99, 0, ?)').run(JSON.stringify([unknown]))
  expect(() => rebuild(store.db)).toThrow('turn_unknown')
  expect((await store.turn('turn_a'))?.state).toBe('running')
})
