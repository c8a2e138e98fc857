import { expect, test } from 'vitest'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import { cancel } from './ending.ts'
import { listCalls } from '../look/listing.ts'
import type { Driver, Tool } from '../kernel/ports.ts'
import { readRecord } from '../look/record.ts'
import { isRefusal } from '../../model/refusal.ts'

/** A node that is gone without a word: it hears, says and does nothing more. */
function freeze(w: World): void {
  const { runtime } = w.node
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  for (const running of runtime.running.values()) running.abort.abort(new Error('killed'))
  runtime.running.clear()
}

const counted = (effects: string[]): Tool => ({
  name: 'count',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'count', description: '', input: {} }),
  run: async (input) => {
    effects.push(JSON.stringify(input))
    return { ok: true, value: effects.length }
  },
})

/** Two model answers with a write between them, then a wait that the test ends. */
const asking = (asked: string[], gate: () => Promise<void>): Driver => ({
  async run(_turn, steps) {
    const ask = (text: string) =>
      steps.step('model', 'm', { text }, async () => {
        asked.push(text)
        return { value: { text }, usage: { input: 5, output: 5, estimated: false } }
      })
    await ask('one')
    await steps.tool('count', { n: 1 })
    await ask('two')
    await steps.tool('count', { n: 2 })
    await gate()
    await ask('three')
    return { outcome: 'completed', output: 'finished', error: null, iterations: 3 }
  },
})

test('R10: after the death of a node another takes the turn over and goes on from its recorded steps', async () => {
  const asked: string[] = []
  const effects: string[] = []
  let open = false
  const w = await world({
    agents: {
      a: {
        driver: asking(asked, async () => {
          if (!open) await new Promise(() => undefined)
        }),
      },
    },
    tools: [counted(effects)],
  })
  const run = w.ask('a', 'go')
  await w.rest()
  expect(asked).toEqual(['one', 'two'])
  freeze(w)
  open = true
  const other = await w.addNode()
  await w.pass(8000)
  expect(other.runtime.running.size).toBe(0)
  expect(asked).toEqual(['one', 'two', 'three'])
  expect(effects).toEqual(['{"n":1}', '{"n":2}'])
  const ended = await w.events('turn.ended')
  expect(ended.map(({ event }) => [event.outcome, event.output, event.tokensUsed])).toEqual([
    ['completed', 'finished', 30],
  ])
  expect((await w.events('session.claimed')).map(({ event }) => event.epoch)).toEqual([2])
  void run
})

test('an announced write without a result is not repeated: the model learns that it may have run', async () => {
  const effects: string[] = []
  let hang = true
  const risky: Tool = {
    ...counted(effects),
    run: async (input) => {
      effects.push(JSON.stringify(input))
      if (hang) await new Promise(() => undefined)
      return { ok: true, value: 1 }
    },
  }
  const script: ScriptedFunction = async (turn) => JSON.stringify((await turn.tool('count', { n: 1 })).value)
  const w = await world({ agents: { a: { script } }, tools: [risky] })
  void w.ask('a', 'go')
  await w.rest()
  freeze(w)
  hang = false
  await w.addNode()
  await w.pass(8000)
  expect(effects.length).toBe(1)
  const [ended] = await w.events('turn.ended')
  expect(ended?.event.output).toContain('may have run')
})

test('R6: a node that comes back from a freeze commits nothing for a turn that another took over', async () => {
  const asked: string[] = []
  const release: (() => void)[] = []
  const gate = (): Promise<void> => new Promise((resolve) => release.push(resolve))
  const w = await world({ agents: { a: { driver: asking(asked, gate) } }, tools: [counted([])] })
  void w.ask('a', 'go')
  await w.rest()
  // The process is stopped: its heart does not beat and it does not sweep, but it is not dead.
  w.node.runtime.stopping.abort(new Error('stopped'))
  const other = await w.addNode()
  await w.pass(8000)
  expect(other.runtime.running.size).toBe(1)
  // It wakes while the new owner is still at work, and goes on as if nothing had happened.
  const thawed = { ...w.node.runtime, stopping: new AbortController() }
  Object.assign(w.node.runtime, { stopping: thawed.stopping })
  release[0]?.()
  await w.rest()
  expect(await w.events('turn.ended')).toEqual([])
  release[1]?.()
  await w.pass(3000)
  const ended = await w.events('turn.ended')
  expect(ended.map(({ event }) => event.output)).toEqual(['finished'])
  expect((await w.events('step.ended')).filter(({ event }) => event.kind === 'model').length).toBe(3)
  expect(w.faults).toEqual([])
})

test("a caller whose node died gets its child's answer when it runs again, without a second call", async () => {
  let slow = true
  const child: ScriptedFunction = async (turn) => {
    if (slow) await new Promise(() => undefined)
    return turn.think('child done')
  }
  const boss: ScriptedFunction = async (turn) => {
    await turn.think('calling')
    return `got ${String(valueOf(await turn.tool('sub_agent', { agent_name: 'child', task: 'work' }))['output'])}`
  }
  const w = await world({ agents: { boss: { script: boss }, child: { script: child } } })
  void w.ask('boss', 'go')
  await w.rest()
  expect(w.node.runtime.running.size).toBe(2)
  freeze(w)
  slow = false
  await w.addNode()
  await w.pass(10_000)
  expect((await w.events('call.opened')).length).toBe(1)
  expect((await w.events('call.ended')).map(({ event }) => event.outcome)).toEqual(['completed'])
  const roots = (await w.events('turn.ended')).filter(({ event }) => event.output !== '')
  expect(roots.map(({ event }) => event.output)).toEqual(['got child done'])
})

test('R4: a call whose node died ends at its deadline, with what its recorded steps said', async () => {
  const child: ScriptedFunction = async (turn) => {
    await turn.think('first')
    await turn.think('second')
    return new Promise(() => undefined)
  }
  const w = await world({
    agents: {
      boss: {
        script: async (turn) =>
          String(
            valueOf(await turn.tool('sub_agent', { agent_name: 'child', task: 'work', timeout_seconds: 3 }))[
              'outcome'
            ],
          ),
      },
      child: { script: child },
    },
  })
  void w.ask('boss', 'go')
  await w.rest()
  freeze(w)
  await w.addNode()
  await w.pass(4500)
  const [ended] = await w.events('call.ended')
  expect(ended?.event).toMatchObject({ outcome: 'timed_out', output: 'first\nsecond' })
})

test('a turn that was told to stop and whose node is gone is ended by another, as it was told', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) =>
          String(
            valueOf(await turn.tool('sub_agent', { agent_name: 'child', task: 'work', timeout_seconds: 2 }))[
              'outcome'
            ],
          ),
      },
      child: { driver: { run: () => new Promise(() => undefined) } },
    },
  })
  void w.ask('boss', 'go')
  await w.rest()
  freeze(w)
  await w.addNode()
  await w.pass(12_000)
  const outcomes = (await w.events('turn.ended')).map(({ event }) => event.outcome)
  expect(outcomes.sort()).toEqual(['completed', 'timed_out'])
})

test('what a call has used is on record also where it was ended before anybody could count it', async () => {
  const asked: string[] = []
  const child = asking(asked, () => new Promise(() => undefined))
  const w = await world({
    agents: {
      boss: {
        script: async (turn) =>
          String(valueOf(await turn.tool('sub_agent', { agent_name: 'child', task: 'work' }))['outcome']),
      },
      child: { driver: child },
    },
    tools: [counted([])],
  })
  const run = w.ask('boss', 'go')
  await w.rest()
  freeze(w)
  const other = await w.addNode()
  const [opened] = await w.events('call.opened')
  const sent = await run.accepted
  if (isRefusal(sent) || opened === undefined) throw new Error('nothing was opened')
  await cancel(other.runtime, sent.turn, 'cancelled', 'asked by the user')
  await w.pass(12_000)
  const [ended] = await w.events('call.ended')
  expect(ended?.event).toMatchObject({ outcome: 'cancelled', tokensUsed: 0 })
  expect(await readRecord(w.store, opened.event.call)).toMatchObject({ outcome: 'cancelled', tokensUsed: 20 })
  const { calls } = await listCalls(
    { store: w.store, lists: other.runtime.lists, nameOf: (agent) => agent },
    { session: null, limit: 10 },
  )
  expect(calls).toMatchObject([{ outcome: 'cancelled', tokensUsed: 20 }])
})

test('queued inputs of a busy session run one at a time and in order, also when every hint is lost', async () => {
  const order: string[] = []
  let running = 0
  const w = await world({
    agents: {
      a: {
        script: async (turn) => {
          running += 1
          expect(running).toBe(1)
          await w.clock.sleep(100)
          order.push(turn.task)
          running -= 1
          return turn.task
        },
      },
    },
  })
  const first = w.ask('a', 'first')
  await w.rest()
  const sent = await first.accepted
  if (isRefusal(sent)) throw new Error(sent.code)
  const rest = ['second', 'third', 'fourth'].map((task) => w.ask('', task, { session: sent.session }))
  const results = await w.until(Promise.all([first, ...rest]))
  expect(results.map(({ output }) => output)).toEqual(['first', 'second', 'third', 'fourth'])
  expect(order).toEqual(['first', 'second', 'third', 'fourth'])
})
