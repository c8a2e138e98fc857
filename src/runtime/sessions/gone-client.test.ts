/** A program that speaks for a live turn goes away: what it asked for ends, and nothing of that sticks. */
import { expect, test } from 'vitest'
import { valueOf, world, type World, type WorldOptions } from '../../../test/kits/world.ts'
import { use } from '../../../test/kits/mortal.ts'
import type { SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import type { Who } from '../desk/asker.ts'
import type { Tool, ToolAnswer } from '../kernel/ports.ts'

/** Runs until it is stopped, and says by what. */
function endless(
  name: string,
  effect: Tool['effect'],
): { tool: Tool; begun: () => number; ended: () => number } {
  let [begun, ended] = [0, 0]
  const tool: Tool = {
    name,
    effect,
    calling: false,
    describe: () => ({ name, description: '', input: {} }),
    run: (_input, { signal }) =>
      new Promise((_resolve, reject) => {
        begun += 1
        signal.addEventListener('abort', () => {
          ended += 1
          reject(signal.reason)
        })
      }),
  }
  return { tool, begun: () => begun, ended: () => ended }
}

/** A turn that runs for a minute, an agent that takes 20 s to answer, and a program that speaks for the turn. */
async function driveTurn(options: Partial<WorldOptions> = {}, ask: string[] = []) {
  const w: World = await world({
    ...options,
    agents: {
      driven: { ask, script: async (turn) => (await w.clock.sleep(60_000, turn.signal), 'still here') },
      coder: { script: async (turn) => (await w.clock.sleep(20_000, turn.signal), 'late') },
    },
  })
  const run = w.ask('driven', 'go')
  await w.rest()
  const [running] = w.node.runtime.running.values()
  if (running === undefined) throw new Error('nothing runs')
  const who: Who = { kind: 'turn', turn: running.row.id }
  const useTool = async (
    name: string,
    input: Json,
    more: Parameters<typeof use>[0] = {},
  ): Promise<ToolAnswer> => (await w.exchange.useTool(who, name, input, use(more))) as ToolAnswer
  return { w, run, running, useTool }
}

const cancelled = { ok: false, value: { error: { code: 'cancelled' } } }

test('a tool that runs for a live turn ends when its client goes; one that writes is on record', async () => {
  const [reads, writes] = [endless('read-long', 'read'), endless('write-long', 'write')]
  const { w, run, useTool } = await driveTurn({ tools: [reads.tool, writes.tool] })
  const gone = new AbortController()
  const uses = ['read-long', 'write-long'].map((name) => useTool(name, {}, { signal: gone.signal }))
  await w.rest()
  gone.abort()
  const at = w.clock.elapsed()
  expect(await w.until(Promise.all(uses))).toMatchObject([cancelled, cancelled])
  expect(w.clock.elapsed() - at).toBeLessThan(1000)
  expect([reads.ended(), writes.ended()]).toEqual([1, 1])
  expect(await w.until(run)).toMatchObject({ output: 'still here' })
  expect((await w.events('step.ended')).map(({ event }) => [event.name, event.ok])).toEqual([
    ['write-long', false],
  ])
})

test('what a live turn waits for is waited for no longer when its client goes, at any door', async () => {
  const { w, running, useTool } = await driveTurn()
  const ask = { agent_name: 'coder', task: 'x', background: true }
  const call = valueOf(await w.until(useTool('sub_agent', ask)))['call_id'] as string
  const session = (await w.exchange.call(call))?.targetSession as SessionId
  const gone = new AbortController()
  const own: Who = { kind: 'session', session: running.row.session }
  const waits = [
    useTool('wait_for_call', { call_id: call }, { signal: gone.signal }),
    useTool('wait_for_session', { sessionId: session, timeout_seconds: 15 }, { signal: gone.signal }),
    useTool('wait_for_mail', { timeout_seconds: 15 }, { signal: gone.signal }),
    w.exchange.waitForSession(own, session, 15_000, gone.signal),
  ]
  await w.pass(1000)
  expect(running.waits.get(session)).toBe(3)
  gone.abort()
  const at = w.clock.elapsed()
  expect((await w.until(Promise.all(waits))).slice(0, 3)).toMatchObject([cancelled, cancelled, cancelled])
  expect(w.clock.elapsed() - at).toBeLessThan(1000)
  expect(running.waits.size).toBe(0)
  expect(running.buffer.filter(({ type }) => type === 'step.ended')).toEqual([])
  expect((await w.events('wait.ended')).map(({ event }) => event.reason)).toEqual(['it broke off'])
})

test('of two clients that wait for one answer both must go before it ends, and the next starts again', async () => {
  const reads = endless('read-long', 'read')
  const { w, useTool } = await driveTurn({ tools: [reads.tool] })
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()]
  const ask = ({ signal }: AbortController): Promise<ToolAnswer> =>
    useTool('read-long', {}, { id: 'k', signal })
  const uses = [ask(first), ask(second)]
  await w.rest()
  first.abort()
  await w.rest()
  expect([reads.begun(), reads.ended()]).toEqual([1, 0])
  second.abort()
  const again = ask(third)
  expect(await w.until(Promise.all(uses))).toMatchObject([cancelled, cancelled])
  await w.rest()
  expect([reads.begun(), reads.ended()]).toEqual([2, 1])
  third.abort()
  expect(await w.until(again)).toMatchObject(cancelled)
})

test('what was done although its client had gone is the answer of a retry, and is not done twice', async () => {
  let done = 0
  const ends = Promise.withResolvers<void>()
  const deaf: Tool = {
    ...endless('write-it', 'write').tool,
    run: async () => (await ends.promise, { ok: true, value: (done += 1) }),
  }
  const { w, useTool } = await driveTurn({ tools: [deaf] })
  const gone = new AbortController()
  const left = useTool('write-it', {}, { id: 'k', signal: gone.signal })
  await w.rest()
  gone.abort()
  const again = useTool('write-it', {}, { id: 'k' })
  await w.rest()
  ends.resolve()
  expect(await w.until(Promise.all([left, again]))).toEqual([
    { ok: true, value: 1 },
    { ok: true, value: 1 },
  ])
  expect(await w.until(useTool('write-it', {}, { id: 'k' }))).toEqual({ ok: true, value: 1 })
})

test('a call that is just being opened when its client goes is cancelled', async () => {
  const { w, useTool } = await driveTurn()
  const { runtime } = w.node
  const transact = runtime.store.transact.bind(runtime.store)
  const gone = new AbortController()
  runtime.store.transact = (keys, work, urgent) => {
    if (keys.some((key) => key.startsWith('call:'))) gone.abort()
    return transact(keys, work, urgent)
  }
  const uses = [false, true].map((background) =>
    useTool('sub_agent', { agent_name: 'coder', task: 'x', background }, { signal: gone.signal }),
  )
  await w.until(Promise.all(uses))
  await w.pass(1000)
  const opened = await w.events('call.opened')
  expect(opened.length).toBeGreaterThan(0)
  const ends = (await w.events('call.ended')).map(({ event }) => event.outcome)
  expect(ends).toEqual(opened.map(() => 'cancelled'))
})

test('a person is asked no longer for a client that has gone', async () => {
  const writes = endless('danger', 'write')
  const { w, useTool } = await driveTurn({ tools: [writes.tool], asks: true }, ['danger'])
  const gone = new AbortController()
  const left = useTool('danger', {}, { signal: gone.signal })
  await w.pass(100)
  expect(await w.exchange.questions()).toHaveLength(1)
  gone.abort()
  expect(await w.until(left)).toMatchObject(cancelled)
  expect(await w.exchange.questions()).toEqual([])
  expect((await w.events('question.answered')).map(({ event }) => [event.answer, event.by])).toEqual([
    ['deny', 'the client went away'],
  ])
  expect(writes.begun()).toBe(0)
})
