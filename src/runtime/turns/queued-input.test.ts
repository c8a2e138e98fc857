/** Inputs that wait for their session: their order, their deadlines, and what ends them before they begin. */
import { expect, test } from 'vitest'
import { isRefusal } from '../../model/refusal.ts'
import { planStart } from './next-turn.ts'
import { letter, resting, session, user } from '../../../test/kits/letters.ts'
import { world, type World } from '../../../test/kits/world.ts'

/** An agent that takes the seconds that its task names, and keeps the order of its tasks. */
async function slowWorld(
  more: Partial<Parameters<typeof world>[0]> = {},
): Promise<World & { begun: string[] }> {
  const begun: string[] = []
  const w: World = await world({
    agents: {
      slow: {
        script: async (turn) => {
          begun.push(turn.task)
          await w.clock.sleep(Number.parseInt(turn.task, 10) * 1000, turn.signal)
          return `did ${turn.task}`
        },
      },
    },
    ...more,
  })
  return Object.assign(w, { begun })
}

test('a queued input whose time is over never begins', async () => {
  const w = await slowWorld()
  const id = await session(w, 'slow', '5 first')
  const late = w.ask('slow', '1 late', { session: id, timeoutMs: 3000 })
  const patient = w.ask('slow', '1 patient', { session: id, timeoutMs: 60_000 })
  expect(await w.until(late)).toMatchObject({ outcome: 'timed_out' })
  expect(await w.until(patient)).toMatchObject({ outcome: 'completed', output: 'did 1 patient' })
  expect(w.begun).toEqual(['5 first', '1 patient'])
})

test('a queued input that begins keeps the deadline that its sender gave', async () => {
  const w = await slowWorld()
  const began = w.clock.elapsed()
  const id = await session(w, 'slow', '5 first')
  const own = w.ask('slow', '1000 long', { session: id, timeoutMs: 9000 })
  expect(await w.until(own)).toMatchObject({ outcome: 'timed_out' })
  expect(w.begun).toEqual(['5 first', '1000 long'])
  expect(w.clock.elapsed() - began).toBeGreaterThanOrEqual(9000)
  expect(w.clock.elapsed() - began).toBeLessThan(9100)
  const started = (await w.events('turn.started')).at(-1)
  const sent = (await w.events('message.sent')).at(-1)
  expect(started?.event.deadline).toBe(sent?.event.deadline)
})

test('no input, queued or not, runs longer than a turn may', async () => {
  const w = await slowWorld({ limits: { turnMsMax: 20_000 } })
  const id = await session(w, 'slow', '1 first')
  const run = w.ask('slow', '1000 long', { session: id, timeoutMs: 900_000 })
  expect(await w.until(run)).toMatchObject({ outcome: 'timed_out' })
  const { outcome } = await w.run('slow', '1000 direct', { timeoutMs: 900_000 })
  expect(outcome).toBe('timed_out')
  expect(w.clock.elapsed() - 1_800_000_000_000).toBeLessThan(60_000)
})

test('inputs begin in the order in which they came', async () => {
  const w = await slowWorld()
  const id = await session(w, 'slow', '1 a')
  for (const text of ['1 b', '1 c', '1 d']) await w.exchange.send(user, letter(id, text))
  await resting(w, id)
  expect(w.begun).toEqual(['1 a', '1 b', '1 c', '1 d'])
})

test('a new input does not overtake one that waits for somebody to run it', async () => {
  let there = false
  const w = await slowWorld({ isThere: () => there })
  const id = await session(w, 'slow', '1 first')
  await w.rest()
  expect(w.begun).toEqual([])
  there = true
  expect(await w.exchange.send(user, letter(id, '1 second'))).toMatchObject({ status: 'queued' })
  await w.pass(5000)
  expect(w.begun).toEqual(['1 first', '1 second'])
})

test('deleting a session ends what is queued too, and none of it begins', async () => {
  const w = await slowWorld()
  const id = await session(w, 'slow', '1000 first')
  for (const text of ['1 b', '1 c']) await w.exchange.send(user, letter(id, text))
  await w.until(w.exchange.archive(id))
  await w.pass(5000)
  expect(w.begun).toEqual(['1000 first'])
  expect((await w.events('turn.ended')).map(({ event }) => event.outcome)).toEqual([
    'cancelled',
    'cancelled',
    'cancelled',
  ])
})

test('a timeout that is no time is refused', async () => {
  const w = await slowWorld()
  for (const timeoutMs of [-1, Number.NaN, Infinity])
    expect(await w.run('slow', '1 x', { timeoutMs })).toMatchObject({
      outcome: 'refused',
      refusal: { code: 'bad_input', field: 'timeoutMs' },
    })
})

test('what is queued and overdue is not started by the end of the turn before it', async () => {
  const w = await world({ agents: { a: { driver: { run: () => new Promise(() => undefined) } } } })
  const first = await w.ask('a', 'first').accepted
  if (isRefusal(first)) throw new Error(first.code)
  await w.ask('', 'second', { session: first.session, timeoutMs: 2000 }).accepted
  const { session, next } = await w.store.sessionFacts(first.session)
  if (session === null || next === null) throw new Error('nothing is queued')
  const { runtime } = w.node
  const plan = (deadline: number) =>
    planStart(runtime, session, { ...next, id: 'turn_other', deadline }, w.clock.now())
  expect(plan(w.clock.now() + 1)).not.toBeNull()
  expect(plan(w.clock.now())).toBeNull()
  expect(plan(w.clock.now() - 1)).toBeNull()
})
