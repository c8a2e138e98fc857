/** A driver that goes on after its answer: what it had begun counts, and nothing else. */
import { expect, test } from 'vitest'
import { world, virtualClock, type VirtualClock, type World } from '../../../test/kits/world.ts'
import { sqliteStore } from '../../store/sqlite.ts'
import type { Driver, Steps, Tool } from '../kernel/ports.ts'

const done = { outcome: 'completed', output: 'finished', error: null, iterations: 1 } as const

const think = (steps: Steps, text: string, ms: number, clock: VirtualClock): Promise<unknown> =>
  steps.step('model', 'm', { text }, async () => {
    await clock.sleep(ms)
    steps.emit(text)
    return { value: { text }, usage: { input: 5, output: 0, estimated: false } }
  })

const refusal = { code: 'bad_input', field: 'task', given: '', expected: 'a task' } as const

/** The end of the turn takes 500 ms to get to the store, and what is committed after it takes 1 s. */
async function runSlowEnd(run: (steps: Steps, clock: VirtualClock) => Promise<void>): Promise<World> {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const transact = store.transact.bind(store)
  let delays: number[] = []
  store.transact = async (keys, work) => {
    const ms = delays.shift()
    if (ms !== undefined) await clock.sleep(ms)
    return transact(keys, work)
  }
  const driver: Driver = {
    async run(_, steps) {
      await run(steps, clock)
      delays = [500, 1000]
      return done
    },
  }
  const late: Tool = {
    name: 'late',
    effect: 'call',
    calling: true,
    describe: () => ({ name: 'late', description: '', input: {} }),
    async run(_, { acts, stepKey }) {
      await clock.sleep(200)
      await acts.refuse('sub_agent', {}, refusal, stepKey)
      return { ok: true, value: '' }
    },
  }
  const w = await world({ agents: { a: { driver } }, tools: [late], store, clock })
  await w.run('a', 'go')
  await w.pass(3000)
  return w
}

const readCharge = async (w: World): Promise<{ charged: number[]; recorded: unknown[] }> => ({
  charged: (await w.events('turn.ended')).map(({ event }) => event.tokensUsed),
  recorded: (await w.events('step.ended')).map(({ event }) => event.output),
})

test('a request that a driver made after its answer was charged, and no step told of it', async () => {
  let refused = 0
  const goOn = async (steps: Steps, clock: VirtualClock): Promise<void> => {
    await clock.sleep(50)
    await think(steps, 'late', 50, clock)
  }
  const w = await runSlowEnd(async (steps, clock) => {
    await think(steps, 'one', 10, clock)
    goOn(steps, clock).catch(() => (refused += 1))
  })
  expect(await readCharge(w)).toEqual({ charged: [5], recorded: [{ text: 'one' }] })
  expect(refused).toBe(1)
})

test('a request that waited for its turn to begin was made while the end was on its way', async () => {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const transact = store.transact.bind(store)
  let isSlow = false
  store.transact = async (keys, work) => {
    if (isSlow) await clock.sleep(500)
    return transact(keys, work)
  }
  const made: string[] = []
  const ask = (steps: Steps, text: string): Promise<unknown> =>
    steps.step('model', 'm', { text }, async () => {
      made.push(text)
      return { value: { text }, usage: { input: 5, output: 0, estimated: false } }
    })
  const driver: Driver = {
    async run(_, steps) {
      await ask(steps, 'one')
      isSlow = true
      await ask(steps, 'two')
      // It waits until the answer before the last one is durable.
      ask(steps, 'three').catch(() => undefined)
      return done
    },
  }
  const w = await world({ agents: { a: { driver } }, store, clock })
  void w.ask('a', 'go')
  await w.pass(5000)
  expect(made).toEqual(['one', 'two'])
  expect((await readCharge(w)).charged).toEqual([10])
})

test('a request that was under way when its driver answered was charged, and no step told of it', async () => {
  const w = await runSlowEnd(async (steps, clock) => {
    await think(steps, 'one', 10, clock)
    think(steps, 'under way', 100, clock).catch(() => undefined)
  })
  expect(await readCharge(w)).toEqual({ charged: [10], recorded: [{ text: 'one' }, { text: 'under way' }] })
})

test('a call that came behind the end of its turn took a step along, which was charged and lost', async () => {
  let refused = 0
  const w = await runSlowEnd(async (steps, clock) => {
    await think(steps, 'one', 10, clock)
    think(steps, 'under way', 100, clock).catch(() => undefined)
    steps.tool('late', {}).catch(() => (refused += 1))
    await clock.sleep(1)
  })
  expect(await readCharge(w)).toEqual({ charged: [10], recorded: [{ text: 'one' }, { text: 'under way' }] })
  expect(refused).toBe(1)
})

test('what a driver said after its answer stood in the output of the second try', async () => {
  const clock = virtualClock()
  const child: Driver = {
    async run({ attempt }, steps) {
      await think(steps, `try ${attempt}. `, 10, clock)
      if (attempt === 2) await clock.sleep(200)
      else {
        clock
          .sleep(50)
          .then(() => steps.emit('late word. '))
          .then(() => think(steps, 'late thought. ', 10, clock))
          .catch(() => undefined)
        think(steps, 'under way. ', 100, clock).catch(() => undefined)
        await clock.sleep(1)
      }
      return attempt === 2 ? { ...done, outcome: 'failed', error: 'it broke' } : done
    },
  }
  const schema = { type: 'object', required: ['never'] }
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'child', task: 'count', output_schema: schema })
          return 'done'
        },
      },
      child: { driver: child },
    },
    clock,
  })
  await w.run('boss', 'go')
  const ended = (await w.events('call.ended'))[0]?.event
  expect(ended?.errors).toEqual(['it broke'])
  expect(ended?.output.split('\n').map((line) => line.trim())).toEqual(['try 1.', 'try 2.'])
  expect(ended?.tokensUsed).toBe(15)
})
