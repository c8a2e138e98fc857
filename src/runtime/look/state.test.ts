/** What a session is doing, and waiting until it does nothing. */
import { expect, test } from 'vitest'
import { letter, session, user } from '../../../test/kits/letters.ts'
import { world, type World, type WorldOptions } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'
import type { Runtime } from './runtime.ts'
import { nap, readState, sessionStatus, untilResting } from './state.ts'

const never = new AbortController().signal

async function slow(ms: number, more: Partial<WorldOptions> = {}): Promise<World> {
  const w: World = await world({
    agents: { a: { script: async (turn) => (await w.clock.sleep(ms, turn.signal), 'done') } },
    ...more,
  })
  return w
}

test('what failed is an error until something ends well; what was cancelled is none', () => {
  const outcomes = ['failed', 'timed_out', 'budget_exhausted', 'lost', 'cancelled', 'completed'] as const
  expect(outcomes.map((outcome) => sessionStatus(false, outcome))).toEqual([
    'error',
    'error',
    'error',
    'error',
    'idle',
    'idle',
  ])
  expect([sessionStatus(true, 'failed'), sessionStatus(false, null)]).toEqual(['streaming', 'idle'])
})

test('a session rests when nothing runs and nothing is queued in it', async () => {
  const w = await slow(1000)
  const id = await session(w, 'a', 'first')
  await w.exchange.send(user, letter(id, 'second'))
  const { runtime } = w.node
  const at = w.clock.elapsed()
  expect(await readState(runtime, id)).toMatchObject({ status: 'streaming', isActive: true, queued: 1 })
  expect(await w.until(untilResting(runtime, id, 60_000, never))).toMatchObject({
    status: 'idle',
    isActive: false,
    queued: 0,
    lastMessage: { role: 'assistant', content: 'done' },
  })
  expect(w.clock.elapsed() - at).toBe(2000)
})

test('what is queued for a program that is away does not stream, and does not rest either', async () => {
  const w = await slow(1000, { isThere: () => false })
  const id = await session(w, 'a', 'first')
  expect(await readState(w.node.runtime, id)).toMatchObject({ status: 'idle', isActive: true, queued: 1 })
})

test('what runs on another node streams, although this one may not run it', async () => {
  const w = await slow(10_000)
  const other = await w.addNode()
  other.runtime.place = { mayRun: () => false, nodes: async () => [], catchUp: async () => undefined }
  const id = await session(w, 'a', 'first')
  expect(await readState(other.runtime, id)).toMatchObject({ status: 'streaming', isActive: true })
})

test('a wait ends at the moment at which the session rests, and not when somebody looks again', async () => {
  const w = await slow(1300)
  const id = await session(w, 'a', 'first')
  const at = w.clock.elapsed()
  await w.until(untilResting(w.node.runtime, id, 60_000, never))
  expect(w.clock.elapsed() - at).toBe(1300)
})

test('a wait ends with its time, and at once for who is gone', async () => {
  const w = await slow(100_000)
  const id: SessionId = await session(w, 'a', 'first')
  const at = w.clock.elapsed()
  expect(await w.until(untilResting(w.node.runtime, id, 700, never))).toMatchObject({ isActive: true })
  expect(w.clock.elapsed() - at).toBe(700)
  const gone = new AbortController()
  const waiting = untilResting(w.node.runtime, id, 60_000, gone.signal)
  await w.rest()
  gone.abort()
  expect(await w.until(waiting)).toMatchObject({ isActive: true })
  expect(w.clock.elapsed() - at).toBe(700)
})

test('a nap that ends early takes its alarm back', async () => {
  let cleared = 0
  const runtime = {
    alarm: { after: () => () => (cleared += 1) },
    stopping: new AbortController(),
    atStop: new Set(),
  } as unknown as Runtime
  const gone = new AbortController()
  const napping = nap(runtime, 1000, gone.signal)
  gone.abort()
  await napping
  expect(cleared).toBe(1)
  await nap(runtime, 1000, gone.signal)
  expect(runtime.atStop.size).toBe(0)
})
