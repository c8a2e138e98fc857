/** Symptoms that were seen once: each test fails when its mending is taken out. */
import { expect, test } from 'vitest'
import { tokensPerRequestMax } from '../../model/bound-usage.ts'
import { viewsEqual } from '../../store/rebuild.ts'
import { world } from '../../../test/kits/world.ts'
import type { Tool } from '../kernel/ports.ts'

const tool = (name: string, run: Tool['run'], effect: Tool['effect'] = 'read'): Tool => ({
  name,
  effect,
  calling: false,
  describe: () => ({ name, description: '', input: {} }),
  run,
})

test('a tool that answers with what is no JSON fails its own turn, and everybody else goes on', async () => {
  const w = await world({
    agents: {
      bad: {
        script: async (turn) => {
          await turn.tool('odd', {})
          return 'never recorded'
        },
      },
      good: { script: () => 'fine' },
    },
    tools: [tool('odd', async () => ({ ok: true, value: 1n as never }))],
  })
  const [bad, good] = await w.until(Promise.all([w.ask('bad', 'go'), w.ask('good', 'go')]))
  expect(bad).toMatchObject({ outcome: 'failed', success: false })
  expect(bad?.error).toContain('not_recorded')
  expect(good?.output).toBe('fine')
  expect((await w.run('good', 'again')).output).toBe('fine')
})

test('usage in fractions and times that are no numbers are taken for what they can mean, or refused', async () => {
  const w = await world({
    agents: {
      a: {
        driver: {
          async run(_turn, steps) {
            await steps.step('model', 'm', {}, async () => ({
              value: { text: 'x' },
              usage: { input: 12.5, output: Number.NaN, estimated: true },
            }))
            return { outcome: 'completed', output: 'x', error: null, iterations: 1 }
          },
        },
      },
    },
  })
  expect(await w.run('a', 'go')).toMatchObject({ outcome: 'completed', tokensUsed: 13 })
  expect((await w.run('a', 'go', { timeoutMs: Number.NaN })).refusal).toMatchObject({
    code: 'bad_input',
    field: 'timeoutMs',
  })
  expect((await w.run('a', 'go', { timeoutMs: 1000.5 })).outcome).toBe('completed')
})

test('an agent that said it had used 1e308 tokens kept the log from being read: such counts are bounded', async () => {
  const w = await world({
    agents: {
      liar: {
        driver: {
          async run(_turn, steps) {
            const usage = { input: 1e308, output: 1e308, estimated: false }
            for (let n = 0; n < 3; n += 1)
              await steps.step('model', 'm', { n }, async () => ({ value: { text: 'x' }, usage }))
            return { outcome: 'completed', output: 'x', error: null, iterations: 3 }
          },
        },
      },
      good: { script: () => 'fine' },
    },
  })
  expect(await w.run('liar', 'go')).toMatchObject({
    outcome: 'completed',
    tokensUsed: 6 * tokensPerRequestMax,
  })
  expect((await w.run('good', 'go')).output).toBe('fine')
  expect(viewsEqual(w.store.db).equal).toBe(true)
})

test('one fault of the store stops neither the sweep nor the heartbeat', async () => {
  const w = await world({ agents: { a: {} } })
  const due = w.store.due.bind(w.store)
  w.store.due = () => Promise.reject(new Error('once'))
  await w.pass(2000)
  let looks = 0
  w.store.due = (...query) => {
    looks += 1
    return due(...query)
  }
  await w.pass(8000)
  expect(looks).toBeGreaterThan(3)
  expect(w.faults.length).toBeGreaterThan(0)
  const { runnerAlive } = await w.store.sessionFacts('ses_none')
  expect(runnerAlive).toBe(false)
  const until = (w.store.db.prepare('select until from nodes').get() as { until: number }).until
  expect(until).toBeGreaterThan(w.clock.now())
})

test('sessions that nobody can run, however many, keep no other from being found by the sweep', async () => {
  const here = new Set<string>()
  const w = await world({
    agents: { away: {}, back: { script: () => 'at last' } },
    isThere: (agent) => here.has(agent),
  })
  const create = (agent: string, id: string) =>
    w.exchange.createSession(
      { kind: 'user' },
      { cwd: '/tmp', agent, model: null, title: '', parent: null, initialMessage: 'go', id, trace: null },
    )
  for (let n = 0; n < 600; n += 1) await create('away', `a${String(n).padStart(4, '0')}`)
  await create('back', 'z')
  await w.rest()
  const transact = w.store.transact.bind(w.store)
  let begun = 0
  w.store.transact = (keys, work) => {
    begun += keys.length > 0 ? 1 : 0
    return transact(keys, work)
  }
  await w.pass(2000)
  // What is looked at every second costs no transaction.
  expect(begun).toBe(0)
  // Nobody is told: only looking finds it.
  here.add('back')
  await w.pass(3000)
  expect(await w.store.sessionFacts('ses_z')).toMatchObject({ running: null, next: null })
  expect((await w.events('turn.ended')).map(({ event }) => event.session)).toEqual(['ses_z'])
})

test('a driver that returns nothing useful ends its turn as failed', async () => {
  const w = await world({
    agents: {
      none: { driver: { run: async () => undefined as never } },
      odd: { driver: { run: async () => ({ outcome: 'completed' }) as never } },
    },
  })
  expect((await w.run('none', 'go')).error).toContain('driver_broken')
  expect((await w.run('odd', 'go')).error).toContain('driver_broken')
})

test('a cancel that is committed together with the start of a turn stops it at once', async () => {
  const w = await world({
    agents: {
      a: {
        script: (turn) =>
          new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason))),
      },
    },
  })
  const start = w.clock.now()
  const run = w.ask('a', 'go')
  // The first id after the node's own: known before the commit, so that both can be in one group.
  const suffix = `${start.toString(36)}000001`
  const cancelled = w.store.transact([`session:ses_${suffix}`], async (tx) =>
    tx.append({
      type: 'turn.cancelled',
      session: `ses_${suffix}`,
      turn: `turn_${suffix}`,
      outcome: 'cancelled',
      cause: 'at once',
    }),
  )
  await w.until(cancelled)
  expect(await run.accepted).toMatchObject({ turn: `turn_${suffix}` })
  expect((await w.until(run)).outcome).toBe('cancelled')
  expect(w.clock.now() - start).toBeLessThan(500)
})

test('a queued input keeps the time that its sender gave it', async () => {
  const w = await world({
    agents: {
      a: {
        script: async () => {
          await w.clock.sleep(60_000)
          return 'slow'
        },
      },
    },
  })
  const first = w.ask('a', 'first')
  await w.rest()
  const sent = (await first.accepted) as { session: `ses_${string}` }
  const start = w.clock.now()
  const second = await w.until(w.ask('', 'second', { session: sent.session, timeoutMs: 1000 }))
  expect(second.outcome).toBe('timed_out')
  expect(w.clock.now() - start).toBeLessThan(1050)
})

test('identical tools side by side are told apart in the order in which they began', async () => {
  const keys: string[] = []
  const w = await world({
    agents: {
      a: {
        script: async (turn) => {
          await Promise.all([
            turn.tool('peek', { n: 1 }),
            turn.tool('peek', { n: 1 }),
            turn.tool('peek', { n: 1 }),
          ])
          return 'ok'
        },
      },
    },
    tools: [
      tool('peek', async (_input, { stepKey }) => {
        keys.push(stepKey)
        await w.clock.sleep(10 - keys.length)
        return { ok: true, value: keys.length }
      }),
    ],
  })
  await w.run('a', 'go')
  expect(new Set(keys).size).toBe(3)
  expect(new Set((await w.events('step.ended')).map(({ event }) => event.key)).size).toBe(3)
})

test('steps are progress: a turn that works is not silent', async () => {
  const w = await world({
    agents: {
      a: {
        driver: {
          async run(_turn, steps) {
            for (let n = 0; n < 5; n += 1)
              await steps.step('model', 'm', { n }, async () => {
                await w.clock.sleep(50_000)
                return { value: { text: '' }, usage: null }
              })
            return { outcome: 'completed', output: 'done', error: null, iterations: 5 }
          },
        },
      },
    },
    limits: { inactivityMs: 60_000 },
  })
  expect((await w.run('a', 'go')).output).toBe('done')
})

test('a listener that breaks does not break what it listens to', async () => {
  const w = await world({ agents: { a: { script: async (turn) => turn.think('text') } } })
  w.node.runtime.deltaListeners.add(() => {
    throw new Error('mine')
  })
  expect((await w.run('a', 'go')).outcome).toBe('completed')
  expect(w.faults.length).toBe(1)
})
