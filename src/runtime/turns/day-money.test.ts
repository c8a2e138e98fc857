import { expect, test } from 'vitest'
import { kill, mortal, next } from '../../../test/kits/mortal.ts'
import { cent, payer } from '../../../test/kits/payer.ts'
import { flowOf, replayed } from '../../../test/kits/replay.ts'
import { valueOf, virtualClock, world, type World } from '../../../test/kits/world.ts'
import { toDay } from '../../model/day-budget.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import { rebuild } from '../../store/rebuild.ts'

const spentToday = async ({ store, clock }: World): Promise<number> =>
  (await store.spentOn(toDay(clock.now()))).reduce((sum, { nanoUsd }) => sum + nanoUsd, 0)

test('R7: what a day may cost binds all requests together, and the next day begins with nothing spent', async () => {
  const w = await world({ agents: { a: { driver: payer(30, 2) } }, limits: { dayUsdMax: 1 } })
  expect(await w.run('a', 'one')).toMatchObject({ outcome: 'completed' })
  const second = await w.run('a', 'two')
  expect(second).toMatchObject({ outcome: 'completed' })
  expect(await spentToday(w)).toBe(120 * cent)
  const third = await w.run('a', 'three')
  expect(third).toMatchObject({ outcome: 'refused', refusal: { usd: { day: 'server', used: 120 * cent } } })
  w.clock.jump(24 * 3_600_000)
  expect(await w.run('a', 'four')).toMatchObject({ outcome: 'completed' })
  expect(await spentToday(w)).toBe(60 * cent)
})

test('a turn that runs when the day is used up ends with the numbers of the day', async () => {
  const w = await world({ agents: { a: { driver: payer(30, 9) } }, limits: { dayUsdMax: 1, flowUsdMax: 5 } })
  const run = await w.run('a', 'go')
  expect(run).toMatchObject({ outcome: 'budget_exhausted', tokensUsed: 40 })
  expect(run.error).toContain(
    'the budget of $1.00 a day of this server is used up: $1.20 is spent or being spent today (UTC)',
  )
})

test('R7: requests under way count: others that begin meanwhile cannot spend the same money', async () => {
  const clock = virtualClock()
  const driver = payer(60, 1, { holds: 60, ms: 100, clock })
  const w = await world({ agents: { a: { driver } }, limits: { dayUsdMax: 1 }, clock })
  const runs = [w.ask('a', '1'), w.ask('a', '2'), w.ask('a', '3')]
  const ends = await Promise.all(runs.map((run) => w.until(run)))
  expect(ends.map(({ outcome }) => outcome).toSorted()).toEqual([
    'budget_exhausted',
    'completed',
    'completed',
  ])
  expect(await spentToday(w)).toBe(120 * cent)
})

test('a call is refused once the day is used up, and a replay refuses it again', async () => {
  const boss: ScriptedFunction = async (turn) => {
    const answers = []
    for (const task of ['1', '2'])
      answers.push(valueOf(await turn.tool('sub_agent', { agent_name: 'child', task }))['outcome'] ?? null)
    return JSON.stringify(answers)
  }
  const w = await world({
    agents: { boss: { script: boss }, child: { driver: payer(100, 1) } },
    limits: { dayUsdMax: 1 },
  })
  expect((await w.run('boss', 'go')).output).toBe('["completed","refused"]')
  expect((await w.events('call.refused'))[0]?.event.refusal).toMatchObject({
    code: 'budget_exhausted',
    usd: { max: 100 * cent, used: 100 * cent, day: 'server' },
  })
  const { turns } = await replayed(w, await flowOf(w))
  expect(turns.map(({ equal }) => equal)).toEqual([true, true])
})

test('zero dollars a day open nothing, and no limit opens everything', async () => {
  const w = await world({ agents: { a: { driver: payer(1, 1) } }, limits: { dayUsdMax: 0 } })
  expect(await w.run('a', 'go')).toMatchObject({ outcome: 'refused' })
  expect(await spentToday(w)).toBe(0)
})

test('a crash does not forget what the day has cost', async () => {
  const clock = virtualClock()
  const driver = payer(40, 9, { ms: 1000, clock })
  const options = { agents: { a: { driver } }, limits: { dayUsdMax: 1 }, clock }
  const w = await mortal(options)
  const run = w.ask('a', 'go')
  await w.pass(2500)
  expect(await spentToday(w)).toBe(80 * cent)
  kill(w)
  void Promise.resolve(run).catch(() => undefined)
  const again = await next(w, options)
  await again.pass(20_000)
  // The request that was under way is made again, and that is all that is.
  expect(await spentToday(again)).toBe(120 * cent)
  expect((await again.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['budget_exhausted'])
  expect(await again.run('a', 'more')).toMatchObject({ outcome: 'refused' })
})

test('R10: the days are the same when they are folded again', async () => {
  const w = await world({ agents: { a: { driver: payer(7, 3) } } })
  await w.run('a', 'go')
  const read = () => w.store.db.prepare('select * from spent_days').all()
  const before = read()
  expect(before).toHaveLength(1)
  rebuild(w.store.db)
  expect(read()).toEqual(before)
})
