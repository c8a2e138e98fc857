/** A program that speaks for a live turn through a door. */
import { expect, test } from 'vitest'
import type { Json } from '../../model/json.ts'
import { world, type World } from '../../../test/kits/world.ts'
import type { ToolUse } from './client-turn.ts'
import type { Run } from './run.ts'
import type { Who } from '../desk/asker.ts'
import type { Tool, ToolAnswer } from '../kernel/ports.ts'

const use = (more: Partial<ToolUse> = {}): ToolUse => ({
  signal: new AbortController().signal,
  id: null,
  trace: null,
  ...more,
})

const valueOf = (answer: Awaited<ReturnType<World['exchange']['useTool']>>): Record<string, Json> =>
  (answer as ToolAnswer).value as Record<string, Json>

test('a live turn that speaks through a door keeps its place in the tree; one that has ended may not', async () => {
  const turns: `turn_${string}`[] = []
  const w = await world({
    agents: {
      driven: {
        script: async (turn) => {
          await w.clock.sleep(5000, turn.signal)
          return 'ok'
        },
      },
      coder: {},
    },
  })
  const run = w.ask('driven', 'go')
  await w.rest()
  turns.push(...w.node.runtime.running.keys())
  const who: Who = { kind: 'turn', turn: turns[0] ?? 'turn_none' }
  const value = valueOf(
    await w.until(w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'x' }, use())),
  )
  expect(await w.exchange.call(value['call_id'] as string)).toMatchObject({
    path: ['driven', 'coder'],
    caller: 'driven',
  })
  await w.until(run)
  expect(await w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'x' }, use())).toMatchObject(
    { code: 'call_ended' },
  )
})

/** A turn that runs for a minute, an agent that takes 20 s to answer, and a program that speaks for the turn. */
async function driveTurn(tools: readonly Tool[] = []): Promise<{ w: World; run: Run; who: Who }> {
  const w = await world({
    tools,
    agents: {
      driven: {
        script: async (turn) => {
          await w.clock.sleep(60_000, turn.signal)
          return 'still here'
        },
      },
      coder: {
        script: async (turn) => {
          await w.clock.sleep(20_000, turn.signal)
          return 'late'
        },
      },
    },
  })
  const run = w.ask('driven', 'go')
  await w.rest()
  const who: Who = { kind: 'turn', turn: [...w.node.runtime.running.keys()][0] ?? 'turn_none' }
  return { w, run, who }
}

test('what a live turn asked for at a door ends when its client goes, and the turn goes on', async () => {
  const { w, run, who } = await driveTurn()
  const gone = new AbortController()
  const left = w.exchange.useTool(
    who,
    'sub_agent',
    { agent_name: 'coder', task: 'x' },
    use({ signal: gone.signal }),
  )
  const [a, b] = [
    w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'y' }, use({ id: 'k' })),
    w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'y' }, use({ id: 'k' })),
  ]
  await w.rest()
  gone.abort()
  expect(valueOf(await w.until(left))).toMatchObject({ outcome: 'cancelled' })
  expect(await w.until(a)).toEqual(await w.until(b))
  expect((await w.events('call.opened')).length).toBe(2)
  expect((await w.events('call.ended')).map(({ event }) => event.outcome)).toEqual(['cancelled', 'completed'])
  expect(await w.until(run)).toMatchObject({ output: 'still here' })
})

test('of two uses that are word for word the same, only the one whose client goes is cancelled', async () => {
  const { w, run, who } = await driveTurn()
  const gone = new AbortController()
  const [stays, leaves] = [use(), use({ signal: gone.signal })].map((one) =>
    w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'x' }, one),
  )
  await w.rest()
  gone.abort()
  expect(valueOf(await w.until(leaves as Promise<ToolAnswer>))).toMatchObject({ outcome: 'cancelled' })
  expect(valueOf(await w.until(stays as Promise<ToolAnswer>))).toMatchObject({
    outcome: 'completed',
    output: 'late',
  })
  await w.until(run)
})

test('R2: what a program outside is told of a tool that writes is durable before it is told', async () => {
  const write: Tool = {
    name: 'write-it',
    effect: 'write',
    calling: false,
    describe: () => ({ name: 'write-it', description: '', input: {} }),
    run: async () => ({ ok: true, value: 'written' }),
  }
  const w = await world({
    agents: {
      driven: {
        script: async (turn) => {
          await w.clock.sleep(5000, turn.signal)
          return 'ok'
        },
      },
    },
    tools: [write],
  })
  void w.ask('driven', 'go')
  await w.rest()
  const who: Who = { kind: 'turn', turn: [...w.node.runtime.running.keys()][0] ?? 'turn_none' }
  expect(await w.until(w.exchange.useTool(who, 'write-it', {}, use()))).toEqual({
    ok: true,
    value: 'written',
  })
  expect((await w.events('step.ended')).map(({ event }) => event.output)).toEqual(['written'])
})

test('a key that was used for something else in a live turn is refused', async () => {
  const { w, who } = await driveTurn()
  const ask = (task: string): ReturnType<World['exchange']['useTool']> =>
    w.until(w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task }, use({ id: 'k' })))
  expect(valueOf(await ask('x'))).toMatchObject({ outcome: 'completed' })
  expect(await ask('y')).toEqual({ code: 'message_already_sent', message: 'msg_k' })
  expect(await w.events('call.opened')).toHaveLength(1)
})

test('a try that broke, or whose client went away before it began, is no answer for the next one', async () => {
  let tries = 0
  const breaks: Tool = {
    name: 'break-once',
    effect: 'call',
    calling: false,
    describe: () => ({ name: 'break-once', description: '', input: {} }),
    run: async () => {
      if ((tries += 1) === 1) throw new Error('it broke')
      return { ok: true, value: tries }
    },
  }
  const { w, who } = await driveTurn([breaks])
  const ask = (id: string, signal = new AbortController().signal): ReturnType<World['exchange']['useTool']> =>
    w.until(w.exchange.useTool(who, 'break-once', {}, use({ id, signal })))
  await expect(ask('a')).rejects.toThrow('it broke')
  expect(await ask('a')).toEqual({ ok: true, value: 2 })
  expect(await ask('a')).toEqual({ ok: true, value: 2 })
  expect(await ask('b', AbortSignal.abort())).toMatchObject({ value: { error: { code: 'cancelled' } } })
  expect(await ask('b')).toEqual({ ok: true, value: 3 })
})

test('after a thousand keys in one live turn a second try still has no second effect', async () => {
  let done = 0
  const pay: Tool = {
    name: 'pay',
    effect: 'write',
    calling: false,
    describe: () => ({ name: 'pay', description: '', input: {} }),
    run: async () => ({ ok: true, value: (done += 1) }),
  }
  const w = await world({
    tools: [pay],
    agents: { driven: { script: async (turn) => (await w.clock.sleep(600_000, turn.signal), 'ok') } },
  })
  void w.ask('driven', 'go').then(String, () => undefined)
  await w.rest()
  const who: Who = { kind: 'turn', turn: w.node.runtime.running.keys().next().value ?? 'turn_none' }
  const payOnce = (n: number) => w.exchange.useTool(who, 'pay', { n }, use({ id: `k${n}` }))
  for (let n = 0; n <= 1000; n += 1) await payOnce(n)
  expect(valueOf(await payOnce(1000))).toBe(1001)
  expect(done).toBe(1001)
})
