/** What a turn keeps and drops at its edges: when it is stopped, when it says nothing, when its tools break. */
import { expect, test } from 'vitest'
import { world, type World } from '../../../test/kits/world.ts'
import { isRefusal } from '../../model/refusal.ts'
import type { Driver, Tool } from '../kernel/ports.ts'
import { cancel, expireCall, failQueued, failTaken } from './ending.ts'
import { runToolOutside } from './run-tool.ts'

const usage = { input: 5, output: 5, estimated: false }

const driver = (run: Driver['run']): { driver: Driver } => ({ driver: { run } })

const done = (output: string): Awaited<ReturnType<Driver['run']>> => ({
  outcome: 'completed',
  output,
  error: null,
  iterations: 1,
})

const tool = (name: string, more: Partial<Tool>): Tool => ({
  name,
  effect: 'write',
  calling: false,
  describe: () => ({ name, description: '', input: {} }),
  run: async () => ({ ok: true, value: 'ran' }),
  ...more,
})

/** A node that is gone without a word. */
function freeze(w: World): void {
  const { runtime } = w.node
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  runtime.running.clear()
}

async function begin(w: World, to: string, task = 'go', options = {}) {
  const run = w.ask(to, task, options)
  const sent = await run.accepted
  if (isRefusal(sent)) throw new Error(sent.code)
  await w.rest()
  return sent
}

test('a driver that says it completed, with nothing but blanks, has failed', async () => {
  const w = await world({ agents: { a: driver(async () => done(' \n ')) } })
  expect(await w.run('a', 'go')).toMatchObject({ outcome: 'failed', success: false })
})

test('a stopped turn ends with what it had said before, not with what it says afterwards', async () => {
  const w = await world({
    agents: {
      a: driver(async (_turn, steps, signal) => {
        steps.emit('before')
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        steps.emit('after')
        return done('something else')
      }),
    },
  })
  const { turn } = await begin(w, 'a')
  expect(await cancel(w.node.runtime, turn, 'cancelled', 'asked by the user')).toBe(true)
  await w.pass(100)
  expect((await w.events('turn.ended'))[0]?.event).toMatchObject({ outcome: 'cancelled', output: 'before' })
})

test('a turn that is told to stop already is not cancelled a second time', async () => {
  const w = await world({ agents: { a: driver(() => new Promise(() => undefined)) } })
  const { turn } = await begin(w, 'a')
  const stop = () => cancel(w.node.runtime, turn, 'cancelled', 'asked by the user')
  expect([await stop(), await stop()]).toEqual([true, false])
})

test('what comes back to a driver that ignored its signal is not recorded, and costs nothing', async () => {
  let answer = (): void => undefined
  const w = await world({
    agents: {
      a: driver(async (_turn, steps) => {
        await steps.step('model', 'm', {}, async () => {
          await new Promise<void>((resolve) => (answer = resolve))
          return { value: { text: 'late' }, usage }
        })
        return done('late')
      }),
    },
  })
  const { turn } = await begin(w, 'a')
  await cancel(w.node.runtime, turn, 'cancelled', 'asked by the user')
  await w.rest()
  answer()
  await w.pass(100)
  expect(await w.events('step.ended')).toEqual([])
  expect((await w.events('turn.ended'))[0]?.event).toMatchObject({ outcome: 'cancelled', tokensUsed: 0 })
})

test('an input whose agent is no longer configured when it begins fails, and is not driven', async () => {
  let isKnown = true
  let driven = 0
  const w = await world({
    isKnown: () => isKnown,
    agents: {
      a: driver(async () => {
        driven += 1
        await w.clock.sleep(1000)
        return done('ok')
      }),
    },
  })
  const { session } = await begin(w, 'a')
  await begin(w, 'a', 'next', { session })
  isKnown = false
  await w.pass(5000)
  expect(driven).toBe(1)
  expect((await w.events('turn.ended')).map(({ event }) => [event.outcome, event.error])).toEqual([
    ['completed', null],
    ['failed', 'agent_unknown: a is no longer configured'],
  ])
})

test('the conversation says how long an answer is', async () => {
  const w = await world({ agents: { a: driver(async () => done('a few words of an answer')) } })
  await w.run('a', 'go')
  expect((await w.events('turn.ended'))[0]?.event.entry).toMatchObject({
    answered: 'a few words of an answer',
    answeredTokens: w.node.runtime.count('a few words of an answer'),
  })
})

test('a tool that throws tells the model so, and one that is switched off does not run', async () => {
  let ran = 0
  const w = await world({
    tools: [
      tool('breaks', { run: () => Promise.reject(new Error('no such disk')) }),
      tool('off', {
        disabled: 'the server has none',
        run: async () => ({ ok: true, value: (ran += 1) }),
      }),
    ],
    agents: {
      a: driver(async (_turn, steps) =>
        done(JSON.stringify([await steps.tool('breaks', {}), await steps.tool('off', {})])),
      ),
    },
  })
  const { output } = await w.run('a', 'go')
  expect(JSON.parse(output)).toMatchObject([
    { ok: false, value: { error: { code: 'tool_failed', message: 'no such disk' } } },
    { ok: false, value: { error: { code: 'tool_disabled' } } },
  ])
  expect(ran).toBe(0)
})

test('R10: a tool that had failed before a crash has failed after it', async () => {
  const answers: boolean[] = []
  let isFirst = true
  const w = await world({
    tools: [tool('fails', { run: async () => ({ ok: false, value: 'no' }) })],
    agents: {
      a: driver(async (_turn, steps) => {
        answers.push((await steps.tool('fails', {})).ok)
        await steps.tool('fails', { again: true })
        if (isFirst) await new Promise(() => undefined)
        return done('ok')
      }),
    },
  })
  await begin(w, 'a')
  isFirst = false
  freeze(w)
  await w.addNode()
  await w.pass(9000)
  expect(answers).toEqual([false, false])
})

test('R2: what a program outside is told of a write is in the log before it is told', async () => {
  let recorded = -1
  const w = await world({
    tools: [tool('writes', {})],
    agents: {
      a: driver(async (turn) => {
        const running = w.node.runtime.running.get(turn.turn.id)
        if (running === undefined) throw new Error('it does not run')
        await runToolOutside(w.node.runtime, running, 'writes', {})
        recorded = (await w.events('step.ended')).length
        return done('ok')
      }),
    },
  })
  await w.run('a', 'go')
  expect(recorded).toBe(1)
})

test('a call does not expire before its deadline, whoever looks', async () => {
  const w = await world({
    agents: {
      boss: driver(async (_turn, steps) =>
        done(JSON.stringify((await steps.tool('sub_agent', { agent_name: 'child', task: 'x' })).value)),
      ),
      child: driver(async () => {
        await w.clock.sleep(1000)
        return done('the answer')
      }),
    },
  })
  const run = w.ask('boss', 'go')
  await w.rest()
  const call = (await w.events('call.opened'))[0]?.event.call
  if (call === undefined) throw new Error('it did not open')
  await expireCall(w.node.runtime, call)
  expect(JSON.parse((await w.until(run)).output)).toMatchObject({ outcome: 'completed' })
})

test('R4: an input that nobody can run ends when its time is over, whichever node looks', async () => {
  const w = await world({ isThere: () => false, agents: { away: {} } })
  await begin(w, 'away', 'go', { timeoutMs: 9000 })
  freeze(w)
  await w.addNode()
  await w.pass(7000)
  expect(await w.events('turn.ended')).toEqual([])
  await w.pass(4000)
  expect((await w.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['timed_out'])
})

test('a queued input that fails stands in the conversation, with why', async () => {
  const w = await world({ isThere: () => false, agents: { away: {} } })
  const { session } = await begin(w, 'away', 'do it')
  await failQueued(w.node.runtime, session, 'nobody is there')
  expect((await w.events('turn.ended'))[0]?.event.entry).toMatchObject({
    asked: 'do it',
    answered: '[nobody is there]',
  })
})

test('R7: what was used below a turn before a crash is charged, also where it does not ask for it again', async () => {
  let runs = 0
  const w = await world({
    agents: {
      boss: driver(async (_turn, steps) => {
        runs += 1
        if (runs > 1) return done('ok')
        await steps.tool('sub_agent', { agent_name: 'child', task: 'x' })
        return new Promise(() => undefined)
      }),
      child: driver(async (_turn, steps) => {
        await steps.step('model', 'm', {}, async () => ({ value: { text: 'x' }, usage }))
        return done('done')
      }),
    },
  })
  const { turn } = await begin(w, 'boss')
  expect(await w.events('call.ended')).toHaveLength(1)
  freeze(w)
  await w.addNode()
  await w.pass(9000)
  const ended = (await w.events('turn.ended')).find(({ event }) => event.turn === turn)
  expect(ended?.event).toMatchObject({ outcome: 'completed', tokensBelow: 10 })
})

test('R6: a turn that was taken over once more meanwhile is not ended by who had it before', async () => {
  const w = await world({ agents: { a: driver(() => new Promise(() => undefined)) } })
  const { turn } = await begin(w, 'a')
  const running = w.node.runtime.running.get(turn)
  if (running === undefined) throw new Error('it does not run')
  const { row, input } = running
  const fail = (epoch: number) =>
    failTaken(w.node.runtime, { ...row, epoch }, input, 'died twice', () => undefined)
  await fail(row.epoch - 1)
  expect(await w.events('turn.ended')).toEqual([])
  await fail(row.epoch)
  expect((await w.events('turn.ended')).map(({ event }) => event.error)).toEqual(['died twice'])
})
