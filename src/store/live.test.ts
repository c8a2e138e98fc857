import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '../model/event.ts'
import type { FlowId, TurnId } from '../model/id.ts'
import { append, callEnded, created, node, opened, sent, started, testClock } from '../../test/kits/store.ts'
import { World } from '../../test/kits/mail-world.ts'
import type { Tx } from '../runtime/kernel/store-port.ts'
import { prepareFacts } from './fact-statements.ts'
import { createTx } from './facts.ts'
import { Live } from './live.ts'
import { viewsEqual } from './rebuild.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

function memory(now = testClock().now): SqliteStore {
  const store = sqliteStore({ directory: ':memory:', now })
  onTestFinished(() => store.close())
  return store
}

const acts = fc.array(fc.tuple(fc.nat(15), fc.array(fc.nat(1000), { minLength: 4, maxLength: 4 })), {
  minLength: 5,
  maxLength: 60,
  size: 'max',
})

/** As users speak: each message begins a flow of its own. */
function ownFlows(): (events: readonly Event[]) => Event[] {
  const flows = new Map<TurnId | null, FlowId>()
  return (events) =>
    events.map((event) => {
      if (event.type === 'message.sent' && event.turn !== null && event.from === null) {
        const flow: FlowId = `flow_${event.turn.slice(5)}`
        flows.set(event.turn, flow)
        return { ...event, flow }
      }
      if (event.type !== 'call.opened') return event
      const flow = flows.get(event.turn) ?? event.flow
      flows.set(`turn_${event.call.slice(5)}`, flow)
      return { ...event, flow }
    })
}

/** The facts that are in memory, and the same ones of the views. */
async function readBoth(live: Live, views: Tx, world: World): Promise<[unknown[], unknown[]]> {
  const [memory, asked]: [unknown[], unknown[]] = [[], []]
  const compare = (fact: unknown, same: unknown): void => {
    if (fact === undefined) return
    memory.push(fact)
    asked.push(same)
  }
  for (const { id } of world.turns) {
    const facts = await views.open({ call: 'call_x', callerTurn: id, target: null })
    const caller = live.open(id, now)
    compare(live.turn(id), await views.turn(id))
    compare(live.isAlone(id) ? [] : undefined, await views.below(id))
    compare(caller === undefined ? undefined : { ...caller, target: null }, facts)
    const { session: _, ...activation } = live.activation(id) ?? { session: null }
    compare(live.activation(id) === undefined ? undefined : activation, await views.activation(id))
  }
  for (const { id } of world.sessions) {
    compare(live.session(id, now), await views.session(id))
    compare(live.hasSession(id) ? null : undefined, await views.notices(id))
  }
  return [memory, asked]
}

const now = 1_000_000

test.each([
  ['a session that is there', [created('ses_a')]],
  ['a turn that is there', [sent('ses_a', 'turn_a', { flow: 'flow_a' })]],
  ['a call that is there', [opened({ from: 'ses_a', in: 'turn_a', call: 'call_a', to: 'ses_a' })]],
  ['a session that is made twice', [created('ses_b'), created('ses_b')]],
  ['a turn that nobody has opened', [started('ses_a', 'turn_none'), created('ses_a')]],
])(
  '%s cannot be folded: it is refused at once, and not found out when it is in the log',
  async (_name, events) => {
    const store = memory()
    await append(store, created('ses_a'), sent('ses_a', 'turn_a', { flow: 'flow_a' }))
    await append(store, started('ses_a', 'turn_a'))
    await expect(append(store, ...events)).rejects.toThrow('could not be recorded')
    expect(store.lastSeq()).toBe(3)
    expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  },
)

test('a call with a budget takes its caller out of memory, so that what it holds is read from the views', () => {
  const live = new Live()
  const apply = (...events: Event[]): void => live.apply({ seq: 10, at: 1, events })
  apply(created('ses_a'), sent('ses_a', 'turn_a', { flow: 'flow_a' }), started('ses_a', 'turn_a'))
  expect(live.turn('turn_a')).toBeDefined()
  const call = opened({ from: 'ses_a', in: 'turn_a', call: 'call_b', to: 'ses_b', tokens: 10 })
  apply({ ...call, flow: 'flow_a' }, created('ses_b', 'ephemeral'))
  expect([live.turn('turn_a'), live.activation('turn_a'), live.open('turn_a', 1)]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('a turn that holds something for others is in the views alone, whatever else of it is known', () => {
  const live = new Live()
  const apply = (...events: Event[]): void => live.apply({ seq: 10, at: 1, events })
  apply(created('ses_a'), sent('ses_a', 'turn_a', { flow: 'flow_a' }), started('ses_a', 'turn_a'))
  apply({
    ...opened({ from: 'ses_a', in: 'turn_a', call: 'call_b', to: 'ses_b', tokens: 10 }),
    flow: 'flow_a',
  })
  expect([live.hasTurn('turn_a'), live.hasSession('ses_a')]).toEqual([false, false])
})

test('who waits for nobody below is known as long as every call of it is followed', () => {
  const live = new Live()
  const apply = (...events: Event[]): void => live.apply({ seq: 10, at: 1, events })
  const call = (from: string, to: string, tokens: number | null = null): Event => ({
    ...opened({ from: `ses_${from}`, in: `turn_${from}`, call: `call_${to}`, to: `ses_${to}`, tokens }),
    flow: 'flow_a',
  })
  apply(created('ses_a'), sent('ses_a', 'turn_a', { flow: 'flow_a' }), started('ses_a', 'turn_a'))
  const steps = [live.isAlone('turn_a'), live.isAlone('turn_x')]
  apply(created('ses_b', 'ephemeral'), call('a', 'b'), started('ses_b', 'turn_b'))
  apply(created('ses_c', 'ephemeral'), call('a', 'c'), started('ses_c', 'turn_c'))
  steps.push(live.isAlone('turn_a'), live.isAlone('turn_b'))
  apply(callEnded('ses_a', 'turn_a', 'call_b', 'ses_b'))
  steps.push(live.isAlone('turn_a'))
  apply(callEnded('ses_a', 'turn_a', 'call_c', 'ses_c'))
  expect([...steps, live.isAlone('turn_a')]).toEqual([true, false, false, true, false, true])
  // What holds something is not followed, and neither is what it is below.
  apply(created('ses_d', 'ephemeral'), call('a', 'd'), started('ses_d', 'turn_d'))
  apply(created('ses_e', 'ephemeral'), call('d', 'e', 10), started('ses_e', 'turn_e'))
  expect([live.hasTurn('turn_a'), live.isAlone('turn_a')]).toEqual([true, false])
})

test('a session that forked continues the numbers of another, so memory does not have it', () => {
  const live = new Live()
  const forked: Event = {
    type: 'session.forked',
    session: 'ses_b',
    turn: null,
    from: 'ses_a',
    entries: 4,
    back: 0,
  }
  live.apply({ seq: 10, at: 1, events: [created('ses_a'), created('ses_b'), forked] })
  expect([live.countEntries('ses_a'), live.countEntries('ses_b')]).toEqual([0, undefined])
})

test('after a call with a budget in a flow, what that flow has made is read from the views by everybody in it', () => {
  const live = new Live()
  const apply = (...events: Event[]): void => live.apply({ seq: 10, at: 1, events })
  const call = (from: string, to: string, tokens: number | null): Event => ({
    ...opened({ from: `ses_${from}`, in: `turn_${from}`, call: `call_${to}`, to: `ses_${to}`, tokens }),
    flow: 'flow_a',
  })
  apply(created('ses_a'), sent('ses_a', 'turn_a', { flow: 'flow_a' }), started('ses_a', 'turn_a'))
  apply(created('ses_c', 'ephemeral'), call('a', 'c', null), started('ses_c', 'turn_c'))
  expect(live.open('turn_a', 1)).toMatchObject({ descendants: 1, callsLastMinute: 1 })
  apply(created('ses_d', 'ephemeral'), call('c', 'd', null), started('ses_d', 'turn_d'))
  apply(created('ses_e', 'ephemeral'), call('d', 'e', 10), started('ses_e', 'turn_e'))
  expect([live.hasTurn('turn_a'), live.hasSession('ses_a'), live.open('turn_a', 1)]).toEqual([
    true,
    true,
    undefined,
  ])
})

test('R10: a fact from memory is the fact of the views, whatever happened before', async () => {
  let known = 0
  await fc.assert(
    fc.asyncProperty(acts, async (chosen) => {
      const store = memory()
      const [live, withFlows] = [new Live(), ownFlows()]
      const sql = prepareFacts(store.db)
      await store.heartbeat(node, 1e9)
      live.lease(node, now + 1e9)
      let chances: number[] = []
      const world = new World((count) => (chances.shift() ?? 0) % count)
      for (const [kind, chance] of chosen) {
        chances = [...chance]
        const events = withFlows(world.act(kind))
        if (events.length === 0) continue
        await append(store, ...events)
        live.apply({ seq: store.lastSeq(), at: now, events })
        // Whoever looks has the views brought up to date.
        await store.turns({ flow: 'flow_1' }, 1)
        const views = createTx({ sql, now, held: null }, [])
        const [memory, asked] = await readBoth(live, views, world)
        expect(memory).toEqual(asked)
        known += memory.length
      }
    }),
    { numRuns: 60 },
  )
  expect(known).toBeGreaterThan(500)
})

test('R10: views that follow in batches are the fold of the log', async () => {
  await fc.assert(
    fc.asyncProperty(acts, fc.array(fc.nat(5), { minLength: 60, maxLength: 60 }), async (chosen, looks) => {
      const store = memory()
      const withFlows = ownFlows()
      let chances: number[] = []
      const world = new World((count) => (chances.shift() ?? 0) % count)
      for (const [index, [kind, chance]] of chosen.entries()) {
        chances = [...chance]
        const events = withFlows(world.act(kind))
        if (events.length > 0) await append(store, ...events)
        // Whoever looks has the views brought up to date, in the middle of whatever goes on.
        if (looks[index] === 0) await store.turns({ flow: 'flow_1' }, 1)
      }
      expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
    }),
    { numRuns: 100 },
  )
})
