/** What a turn did before another node took it over counts, and what its old node still does doesn't. */
import { expect, test } from 'vitest'
import { isRefusal } from '../../model/refusal.ts'
import { cancel } from './ending.ts'
import { world, virtualClock, type World } from '../../../test/kits/world.ts'
import type { Driver, Steps, Tool } from '../kernel/ports.ts'
import { sqliteStore } from '../../store/sqlite.ts'
import type { StepKind } from '../../model/event.ts'

/** A node that is gone without a word: it hears, says and does nothing more. */
function freeze(w: World): void {
  const { runtime } = w.node
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  for (const running of runtime.running.values()) running.abort.abort(new Error('killed'))
  runtime.running.clear()
}

const mark: Tool = {
  name: 'mark',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'mark', description: '', input: {} }),
  run: async () => ({ ok: true, value: 'marked' }),
}

const use = (steps: Steps, kind: StepKind, text: string, tokens: number): Promise<unknown> =>
  steps.step(kind, 'm', { text }, async () => ({
    value: { text, entries: 0 },
    usage: { input: tokens, output: 0, estimated: false },
  }))

const never = (): Promise<never> => new Promise(() => undefined)

/** Runs `first`, loses its node after what that recorded, and runs `again` on another. */
async function takeOver(first: Driver['run'], again: Driver['run']): Promise<World> {
  let runs = 0
  const driver: Driver = {
    run: (turn, steps, signal) => ((runs += 1) === 1 ? first : again)(turn, steps, signal),
  }
  const w = await world({ agents: { a: { driver } }, tools: [mark] })
  void w.ask('a', 'go')
  await w.rest()
  freeze(w)
  await w.addNode()
  await w.pass(8000)
  expect(runs).toBe(2)
  return w
}

const done = { outcome: 'completed', output: 'finished', error: null, iterations: 1 } as const

test('a turn that was taken over and broke before it had repeated its steps was charged 0 tokens', async () => {
  const w = await takeOver(
    async (_, steps) => {
      await use(steps, 'model', 'one', 20)
      await steps.tool('mark', {})
      return never()
    },
    () => Promise.reject(new Error('it broke at once')),
  )
  expect((await w.events('turn.ended')).map(({ event }) => [event.outcome, event.tokensUsed])).toEqual([
    ['failed', 20],
  ])
})

test('the summary of a turn that was taken over was not charged where nobody asked for it again', async () => {
  const w = await takeOver(
    async (_, steps) => {
      await use(steps, 'summary', 'so far', 7)
      await steps.tool('mark', {})
      return never()
    },
    async (_, steps) => {
      await use(steps, 'model', 'two', 5)
      return done
    },
  )
  expect((await w.events('turn.ended')).map(({ event }) => [event.outcome, event.tokensUsed])).toEqual([
    ['completed', 12],
  ])
})

test('R7: a recorded step that is repeated is charged once', async () => {
  const w = await takeOver(
    async (_, steps) => {
      await use(steps, 'model', 'one', 20)
      await use(steps, 'summary', 'so far', 7)
      await steps.tool('mark', {})
      return never()
    },
    async (_, steps) => {
      await use(steps, 'model', 'one', 1000)
      await use(steps, 'summary', 'so far', 1000)
      await steps.tool('mark', {})
      await use(steps, 'model', 'two', 5)
      return done
    },
  )
  expect((await w.events('turn.ended')).map(({ event }) => event.tokensUsed)).toEqual([32])
})

test('R6: a node that lost a turn and is silent about it does not stop the one that has it', async () => {
  let runs = 0
  const driver: Driver = {
    async run(_, steps) {
      if ((runs += 1) === 1) return never()
      for (let n = 0; n < 10; n += 1) {
        await use(steps, 'model', `step ${n}`, 1)
        await w.clock.sleep(2000)
      }
      return done
    },
  }
  const w = await world({ agents: { a: { driver } }, limits: { inactivityMs: 10_000 } })
  void w.ask('a', 'go')
  await w.rest()
  // Its heart stops beating and it sweeps no more, but its alarms still ring.
  w.node.runtime.stopping.abort(new Error('stopped'))
  await w.addNode()
  await w.pass(40_000)
  expect(runs).toBe(2)
  expect(await w.events('turn.cancelled')).toEqual([])
  expect((await w.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['completed'])
})

test('a step was lost whose commit was under way when its turn ended', async () => {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const transact = store.transact.bind(store)
  let isSlow = false
  store.transact = async (keys, work) => {
    if (isSlow) {
      isSlow = false
      await clock.sleep(500)
    }
    return transact(keys, work)
  }
  const driver: Driver = {
    async run(_, steps) {
      await use(steps, 'model', 'one', 20)
      isSlow = true
      // Not awaited: its announcement takes the answer above with it.
      steps.tool('mark', {}).catch(() => undefined)
      await Promise.resolve()
      return done
    },
  }
  const w = await world({ agents: { a: { driver } }, tools: [mark], store, clock })
  await w.run('a', 'go')
  await w.pass(3000)
  expect((await w.events('step.ended')).map(({ event }) => event.kind)).toContain('model')
  expect((await w.events('turn.ended')).map(({ event }) => event.tokensUsed)).toEqual([20])
})

test('a step that was recorded while the end of its turn was on its way was not charged', async () => {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const transact = store.transact.bind(store)
  let isEnding = false
  store.transact = async (keys, work) => {
    // The end of the turn takes long to get there, and is passed by the step.
    if (isEnding) {
      isEnding = false
      await clock.sleep(500)
    }
    return transact(keys, work)
  }
  const driver: Driver = {
    async run(_, steps) {
      await use(steps, 'model', 'one', 20)
      steps
        .step('summary', 'm', {}, async () => {
          await clock.sleep(100)
          return { value: { text: '', entries: 0 }, usage: { input: 7, output: 0, estimated: false } }
        })
        .then(() => steps.tool('mark', {}))
        .catch(() => undefined)
      await steps.tool('mark', { first: true })
      isEnding = true
      return done
    },
  }
  const w = await world({ agents: { a: { driver } }, tools: [mark], store, clock })
  await w.run('a', 'go')
  await w.pass(3000)
  expect((await w.events('step.ended')).map(({ event }) => event.kind)).toContain('summary')
  expect((await w.events('turn.ended')).map(({ event }) => event.tokensUsed)).toEqual([27])
})

test('a turn that another ended while the store could not write was charged 0 tokens', async () => {
  const driver: Driver = {
    async run(_, steps) {
      await use(steps, 'model', 'one', 20)
      await steps.tool('mark', {})
      return never()
    },
  }
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const health = store.health.bind(store)
  const w = await world({ agents: { a: { driver } }, tools: [mark], store, clock })
  const sent = await w.ask('a', 'go').accepted
  if (isRefusal(sent)) throw new Error(sent.code)
  await w.rest()
  freeze(w)
  const other = await w.addNode()
  await cancel(other.runtime, sent.turn, 'cancelled', 'asked by the user')
  const refusal = { code: 'store_unavailable', path: '', reason: '', cure: '', freeBytes: null, retryInMs: 1 }
  store.health = () => ({ state: 'unavailable', since: 0, refusal }) as ReturnType<typeof health>
  await w.pass(9000)
  expect(await w.events('turn.ended')).toEqual([])
  store.health = health
  await w.pass(3000)
  expect((await w.events('turn.ended')).map(({ event }) => [event.outcome, event.tokensUsed])).toEqual([
    ['cancelled', 20],
  ])
})

const refusal = { code: 'bad_input', field: 'task', given: '', expected: 'a task' } as const

/** Records a call that was refused, and what its turn has done before. */
const refused: Tool = {
  ...mark,
  name: 'refused',
  effect: 'call',
  calling: true,
  async run(_, { acts, stepKey }) {
    await acts.refuse('sub_agent', {}, refusal, stepKey)
    return { ok: true, value: '' }
  },
}

/** Runs a turn on a node that sweeps no more, stops it from another, and calls `before` what ends it there. */
async function endElsewhere(
  isEnd: (keys: readonly string[]) => boolean,
  before: (w: World, landSlow: () => Promise<unknown>) => Promise<unknown>,
  run: Driver['run'] = never,
): Promise<World> {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const transact = store.transact.bind(store)
  let onEnd = async (): Promise<unknown> => undefined
  let landSlow = async (): Promise<unknown> => undefined
  store.transact = async (keys, work) => {
    if (isEnd(keys)) await onEnd()
    if (keys[1]?.startsWith('call:') !== true) return transact(keys, work)
    // It is on its way for a long time.
    return new Promise((resolve, reject) => {
      landSlow = () => transact(keys, work).then(resolve, reject)
    })
  }
  const w = await world({ agents: { a: { driver: { run } } }, tools: [refused], store, clock })
  const sent = await w.ask('a', 'go').accepted
  if (isRefusal(sent)) throw new Error(sent.code)
  await w.rest()
  w.node.runtime.stopping.abort(new Error('stopped'))
  const other = await w.addNode()
  await cancel(other.runtime, sent.turn, 'cancelled', 'asked by the user')
  onEnd = async () => {
    onEnd = async () => undefined
    await before(w, landSlow)
  }
  await w.pass(9000)
  return w
}

test('R6: a turn that was told to stop is not ended by another whose look at its node is out of date', async () => {
  // It was only slow: its heart beats again after the other has looked.
  const beat = ({ store, node }: World): Promise<void> => store.heartbeat(node.runtime.node, 60_000)
  const w = await endElsewhere((keys) => keys[0]?.startsWith('session:') === true, beat)
  expect(await w.events('turn.ended')).toEqual([])
})

test('R7: what a slow node recorded while its turn was ended elsewhere was not charged', async () => {
  const w = await endElsewhere(
    (keys) => keys[0]?.startsWith('flow:') === true,
    (_, landSlow) => landSlow(),
    async (_, steps) => {
      await use(steps, 'model', 'late', 20)
      await steps.tool('refused', {})
      return never()
    },
  )
  expect((await w.events('turn.ended')).map(({ event }) => [event.outcome, event.tokensUsed])).toEqual([
    ['cancelled', 0],
  ])
  expect(await w.events('step.ended')).toEqual([])
})
