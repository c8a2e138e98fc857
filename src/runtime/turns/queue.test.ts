import { expect, test } from 'vitest'
import { valueOf, virtualClock, world, type VirtualClock, type World } from '../../../test/kits/world.ts'
import type { ScriptedTurn } from '../../adapters/scripted/run-function.ts'
import type { SessionId } from '../../model/id.ts'
import { isRefusal } from '../../model/refusal.ts'
import { send } from '../mail/send.ts'
import { claimSession } from './claim.ts'

const hintMs = 20

/** How long each turn of a session waited after the end of the one before it. */
async function waitedMs(w: World, session: SessionId): Promise<number[]> {
  const own = <T extends { event: { session: SessionId }; at: number }>(stored: readonly T[]): number[] =>
    stored.filter(({ event }) => event.session === session).map(({ at }) => at)
  const started = own(await w.events('turn.started'))
  const ended = own(await w.events('turn.ended'))
  return started.slice(1).map((at, index) => at - (ended[index] ?? Infinity))
}

/** The session that an agent is called in, and how many turns it has had. */
async function mainSession(w: World, agent: string): Promise<SessionId> {
  const created = (await w.events('session.created')).find(
    ({ event }) => event.agent === agent && event.kind === 'persistent',
  )
  return created?.event.session as SessionId
}

/** An agent that takes so long for everything. */
const fast = (clock: VirtualClock, ms: number) => ({
  script: async ({ task }: ScriptedTurn): Promise<string> => {
    await clock.sleep(ms)
    return `done: ${task}`
  },
})

const callQuick = async (turn: ScriptedTurn, message: string): Promise<string> =>
  String(valueOf(await turn.tool('call_agent', { agent_id: 'quick', message }))['response'])

test('R12: five parallel calls to one fast agent take turns without a pause, not one each second', async () => {
  const clock = virtualClock()
  const five = [1, 2, 3, 4, 5]
  const w = await world({
    clock,
    agents: {
      caller: {
        script: async (turn) => (await Promise.all(five.map((n) => callQuick(turn, `task ${n}`)))).join('\n'),
      },
      quick: fast(clock, 3),
    },
  })
  const begunAt = w.clock.now()
  const { output } = await w.run('caller', 'ask five times')
  expect(output.split('\n')).toEqual(five.map((n) => `done: task ${n}`))
  const waited = await waitedMs(w, await mainSession(w, 'quick'))
  expect(waited).toHaveLength(4)
  expect(Math.max(...waited)).toBeLessThanOrEqual(hintMs)
  expect(w.clock.now() - begunAt).toBeLessThan(5 * (3 + hintMs))
})

test('R12: a hundred inputs in each of ten sessions of an agent that takes 1 ms drain in under 4 s', async () => {
  const clock = virtualClock()
  const w = await world({ clock, agents: { quick: fast(clock, 1) }, limits: { queuedPerSessionMax: 100 } })
  const sessions: SessionId[] = []
  for (let n = 0; n < 10; n += 1) {
    const sent = await w.until(w.ask('quick', 'first').accepted)
    if (!isRefusal(sent)) sessions.push(sent.session)
  }
  const begunAt = w.clock.now()
  const runs = sessions.flatMap((session) =>
    Array.from({ length: 100 }, (_, n) => w.ask('quick', `input ${n}`, { session })),
  )
  const results = await w.until(Promise.all(runs))
  expect(results.every(({ outcome }) => outcome === 'completed')).toBe(true)
  expect(w.clock.now() - begunAt).toBeLessThan(4000)
}, 60_000)

test('R12: of eighty roots that call one fast agent none times out', async () => {
  const clock = virtualClock()
  const w = await world({
    clock,
    agents: { caller: { script: (turn) => callQuick(turn, `for ${turn.task}`) }, quick: fast(clock, 3) },
  })
  const runs = Array.from({ length: 80 }, (_, n) => w.ask('caller', `root ${n}`))
  const results = await w.until(Promise.all(runs))
  expect(results.map(({ output }) => output)).toEqual(runs.map((_, n) => `done: for root ${n}`))
  const waited = await waitedMs(w, await mainSession(w, 'quick'))
  expect(Math.max(...waited)).toBeLessThanOrEqual(hintMs)
}, 60_000)

test('R12: what waits behind a turn starts in the commit that ends it', async () => {
  const clock = virtualClock()
  const w = await world({ clock, agents: { quick: fast(clock, 5) } })
  const first = w.ask('quick', 'first')
  const sent = await w.until(first.accepted)
  if (isRefusal(sent)) throw new Error(sent.code)
  const second = w.ask('quick', 'second', { session: sent.session })
  await w.until(Promise.all([first, second]))
  const ended = (await w.events('turn.ended'))[0]
  const started = (await w.events('turn.started'))[1]
  const rows = w.store.db.prepare('select events from log').all() as { events: string }[]
  const together = rows.filter(({ events }) => /turn\.ended.*turn\.started/.test(events))
  expect(together).toHaveLength(1)
  expect(started?.at).toBe(ended?.at)
  // The second was shown what the first had said.
  expect((await w.events('turn.ended')).map(({ event }) => event.entry?.n)).toEqual([1, 3])
})

test('R12: a hint during a claim is not dropped: a runner that comes meanwhile gets what waits', async () => {
  let runner: 'away' | 'comes' | 'there' = 'away'
  let arrive = (): void => undefined
  const w = await world({
    agents: { a: { script: () => 'ok' } },
    isThere: () => {
      if (runner !== 'comes') return runner === 'there'
      // It comes just after the claim has looked, and is told of.
      runner = 'there'
      arrive()
      return false
    },
  })
  const sent = await w.until(w.ask('a', 'wait for it').accepted)
  if (isRefusal(sent)) throw new Error(sent.code)
  await w.rest()
  arrive = () => void claimSession(w.node.runtime, sent.session)
  runner = 'comes'
  await claimSession(w.node.runtime, sent.session)
  await w.rest()
  expect(await w.events('turn.started')).toHaveLength(1)
})

test('R12: where the node that ends a turn cannot run the next, one that can is told by the hint', async () => {
  const there = new Set<string>()
  let release = (): void => undefined
  const w = await world({
    agents: { a: { script: () => new Promise<string>((resolve) => (release = () => resolve('ok'))) } },
  })
  const other = await w.addNode()
  for (const { runtime } of [w.node, other])
    Object.assign(runtime, {
      agents: { ...runtime.agents, isThere: () => there.has(runtime.node) },
    })
  there.add(w.node.runtime.node)
  const sent = await w.until(w.ask('a', 'first').accepted)
  if (isRefusal(sent)) throw new Error(sent.code)
  await w.until(w.ask('a', 'second', { session: sent.session }).accepted)
  await w.rest()
  there.clear()
  there.add(other.runtime.node)
  const endedAt = w.clock.now()
  release()
  await w.rest()
  const started = await w.events('turn.started')
  expect(started.map(({ event, at }) => [event.node, at >= endedAt])).toEqual([
    [w.node.runtime.node, true],
    [other.runtime.node, true],
  ])
  expect(w.clock.now() - endedAt).toBeLessThanOrEqual(hintMs)
})

test('R12: a queued input that came too late does not hold up the one behind it', async () => {
  const clock = virtualClock()
  const w = await world({ clock, agents: { quick: fast(clock, 50) } })
  const first = w.ask('quick', 'first')
  const sent = await w.until(first.accepted)
  if (isRefusal(sent)) throw new Error(sent.code)
  const { session } = sent
  // Nobody waits for it here who would end it at its deadline.
  const hasty = await w.until(send(w.node.runtime, { to: { session }, text: 'hasty', timeoutMs: 10 }))
  const patient = w.ask('quick', 'patient', { session })
  const results = await w.until(Promise.all([first, patient]))
  expect(results.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
  const [started, ended] = [await w.events('turn.started'), await w.events('turn.ended')]
  expect(ended.map(({ event }) => event.outcome)).toEqual(['completed', 'timed_out', 'completed'])
  expect(started.map(({ event }) => event.turn)).not.toContain(isRefusal(hasty) ? null : hasty.turn)
  expect((started[1]?.at ?? Infinity) - (ended[0]?.at ?? 0)).toBeLessThanOrEqual(hintMs)
})
