/** What ends with a turn or a call, in the same commit, and what is left alone. */
import { expect, test } from 'vitest'
import { letter, session, user } from '../../../test/kits/letters.ts'
import { world, type World } from '../../../test/kits/world.ts'
import { externalAgent } from '../../model/agent.ts'
import type { SessionRow, TurnRow } from '../../model/facts.ts'
import type { Driver } from '../kernel/ports.ts'
import type { Tx } from '../kernel/store-port.ts'
import { cancel, expireCall, failQueued } from './ending.ts'
import { isOverdue, nothingNext, takeNext } from './next-turn.ts'

/** Calls somebody, and takes no notice of being stopped. */
const stubborn = (agent_name: string): Driver => ({
  async run(_turn, steps) {
    void steps
      .tool('sub_agent', {
        agent_name,
        task: `for ${agent_name}`,
        allow_nested_calls: true,
      } as never)
      .catch(() => undefined)
    return new Promise(() => undefined)
  },
})

const chain = (): Promise<World> => {
  const made: Promise<World> = world({
    agents: {
      boss: { driver: stubborn('middle') },
      middle: { driver: stubborn('leaf') },
      leaf: { script: async (turn) => (await (await made).clock.sleep(1e6, turn.signal), 'ok') },
    },
  })
  return made
}

test('R3: what is below a turn ends in the commit that cancels the turn', async () => {
  const w = await chain()
  const { accepted } = w.ask('boss', 'go')
  await w.pass(100)
  const sent = await accepted
  if (!('turn' in sent)) throw new Error('refused')
  expect(await cancel(w.node.runtime, sent.turn, 'cancelled', 'enough')).toBe(true)
  expect((await w.events('call.ended')).map(({ event }) => event.outcome)).toEqual(['cancelled', 'cancelled'])
})

test('R3: what is below a call ends in the commit that ends the call', async () => {
  const w = await chain()
  void w.ask('boss', 'go')
  await w.pass(100)
  const calls = (await w.events('call.opened')).map(({ event }) => event.call)
  await expireCall(w.node.runtime, calls[0] ?? 'call_none', true)
  const ended = await w.events('call.ended')
  expect(ended.map(({ event }) => event.call).toSorted()).toEqual(calls.toSorted())
  expect(ended.find(({ event }) => event.call === calls[0])?.event.outcome).toBe('timed_out')
})

test('R6: a cancel for one activation leaves the turn alone that another has', async () => {
  const w = await chain()
  void w.ask('boss', 'go')
  await w.pass(100)
  const [running] = w.node.runtime.running.values()
  if (running === undefined) throw new Error('nothing runs')
  const { id } = running.row
  const stop = (epoch: number) => cancel(w.node.runtime, id, 'timed_out', 'silence', { ...running, epoch })
  expect(await stop(running.epoch - 1)).toBe(false)
  expect(await w.events('turn.cancelled')).toEqual([])
  expect(await stop(running.epoch)).toBe(true)
})

test('what began to run since somebody looked is not failed with what is queued', async () => {
  const w = await world({ agents: { a: { driver: { run: () => new Promise(() => undefined) } } } })
  const id = await session(w, 'a', 'first')
  await w.exchange.send(user, letter(id, 'second'))
  const { store } = w.node.runtime
  const turns = store.turns.bind(store)
  store.turns = async (query, limit) =>
    (await turns(query, limit)).map((row) => ({ ...row, state: 'queued' as const }))
  await failQueued(w.node.runtime, id, 'nobody can run it')
  store.turns = turns
  const queued = (await w.events('message.sent')).at(-1)?.event.turn
  expect((await w.events('turn.ended')).map(({ event }) => [event.turn, event.error])).toEqual([
    [queued, 'nobody can run it'],
  ])
})

test('who waits for a turn whose end cannot even be worked out is told that it is lost', async () => {
  const w: World = await world({
    agents: { a: { script: async (turn) => (await w.clock.sleep(1000, turn.signal), 'done') } },
  })
  const run = w.ask('a', 'go')
  await run.accepted
  w.node.runtime.count = () => {
    throw new Error('cannot count')
  }
  expect(await w.until(run)).toMatchObject({ outcome: 'lost', error: 'lost: cannot count' })
  expect(w.faults).toHaveLength(1)
})

test('R12: what is queued is overdue when nobody waits for it; a node that stops starts nothing', async () => {
  const w = await world({ agents: { a: {} } })
  const { runtime } = w.node
  const now = w.clock.now()
  const row = (deadline: number, ofCall: number | null): TurnRow =>
    ({
      id: 'turn_x',
      deadline,
      call: ofCall === null ? null : { id: 'call_x', deadline: ofCall },
    }) as unknown as TurnRow
  expect(
    [row(0, now), row(0, now + 1), row(now, null), row(now + 1, null), row(0, null)].map(overdue),
  ).toEqual([true, false, true, false, false])
  function overdue(one: TurnRow): boolean {
    return isOverdue(runtime, one)
  }
  const id = await session(w, 'a')
  const { session: resting } = await w.store.sessionFacts(id)
  if (resting === null) throw new Error('no session')
  const tx = { now, session: async () => ({ session: resting, next: row(0, null) }) } as unknown as Tx
  const take = (of: SessionRow) => takeNext(runtime, tx, of, () => undefined)
  expect((await take(resting)).events).toHaveLength(1)
  expect(await take({ ...resting, kind: 'external', agent: externalAgent.name })).toEqual(nothingNext)
  runtime.stopping.abort(new Error('stopped'))
  expect(await take(resting)).toEqual(nothingNext)
})
