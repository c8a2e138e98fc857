/** A client that asks again: it gets the answer of the first try, or learns why there is none. */
import { expect, test } from 'vitest'
import type { Json } from '../../model/json.ts'
import type { ToolAnswer } from '../kernel/ports.ts'
import { cancel } from '../turns/ending.ts'
import { world, type WorldOptions } from '../../../test/kits/world.ts'
import { use, client, ask, retry, kill, mortal, next, killAfter, coder } from '../../../test/kits/mortal.ts'

test('a retry that brings something else under the same id is refused', async () => {
  const w = await world(coder)
  const long = 'x'.repeat(1000)
  await retry(w, 'key', { ...ask, task: `${long} one` })
  expect(
    await w.exchange.useTool(
      await client(w),
      'sub_agent',
      { ...ask, task: `${long} two` },
      use({ id: 'key' }),
    ),
  ).toMatchObject({ code: 'message_already_sent' })
  expect(
    await w.exchange.useTool(
      await client(w),
      'sub_agent',
      { ...ask, task: `${long} one`, timeout_seconds: 3 },
      use({ id: 'key' }),
    ),
  ).toMatchObject({ code: 'message_already_sent' })
})

test('a background call is answered once its opening is durable, and again after a crash', async () => {
  const slow: WorldOptions = {
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(20_000, turn.signal)
          return 'at last'
        },
      },
    },
  }
  const w = await mortal(slow)
  const began = await retry(w, 'key', { ...ask, background: true })
  expect(began).toMatchObject({ outcome: null, call_id: expect.stringMatching(/^call_/) as string })
  kill(w)
  const after = await next(w, slow)
  const askedAt = after.clock.now()
  expect(await retry(after, 'key', { ...ask, background: true })).toEqual(began)
  expect(after.clock.now() - askedAt).toBeLessThan(5000)
  await after.pass(30_000)
  expect((await after.events('call.ended')).map(({ event }) => event.outcome)).toEqual(['completed'])
  expect(await retry(after, 'key', { ...ask, background: true })).toEqual(began)
})

test('a client that left before the server died has cancelled, and a retry is told so', async () => {
  const slow: WorldOptions = {
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(20_000, turn.signal)
          return 'at last'
        },
      },
    },
  }
  const w = await mortal(slow)
  const gone = new AbortController()
  void w.exchange
    .useTool(await client(w), 'sub_agent', ask, use({ id: 'key', signal: gone.signal }))
    .catch(() => undefined)
  await w.rest()
  const died = killAfter(w, 'turn.cancelled')
  gone.abort()
  await w.until(died)
  const after = await next(w, slow)
  const [ended] = await after.events('call.ended')
  expect(
    await after.until(after.exchange.useTool(await client(after), 'sub_agent', ask, use({ id: 'key' }))),
  ).toMatchObject({ ok: false, value: { outcome: 'cancelled', call_id: ended?.event.call } })
})

test('a client whose turn was stopped was told an outcome without the id of its call', async () => {
  const slow: WorldOptions = {
    agents: {
      coder: {
        script: async (turn) => {
          await turn.think('half of it')
          await w.clock.sleep(20_000, turn.signal)
          return 'at last'
        },
      },
    },
  }
  const w = await world(slow)
  const who = await client(w)
  const asked = (tool: string, input: Json, id: string) =>
    w.exchange.useTool(who, tool, input, use({ id })) as Promise<ToolAnswer>
  const first = asked('sub_agent', ask, 'one')
  const other = asked('call_agent', { agent_id: 'coder', message: 'it' }, 'two')
  await w.rest()
  for (const turn of ['turn_one', 'turn_two'] as const)
    await cancel(w.node.runtime, turn, 'cancelled', 'the user stopped it')
  const told = await w.until(first)
  const again = await w.until(asked('sub_agent', ask, 'one'))
  const ended = (await w.events('call.ended')).map(({ event }) => event)
  expect(ended.map(({ outcome }) => outcome)).toEqual(['cancelled', 'cancelled'])
  expect(told).toMatchObject({ ok: false, value: { outcome: 'cancelled', call_id: ended[0]?.call } })
  expect(again).toEqual(told)
  expect(await w.until(other)).toMatchObject({ value: { error: { call_id: ended[1]?.call } } })
})

test('where two wait for one turn, the first that goes cancels nothing, and the last one does', async () => {
  const slow: WorldOptions = {
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(20_000, turn.signal)
          return 'at last'
        },
      },
    },
  }
  const w = await world(slow)
  const who = await client(w)
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()]
  const wait = (key: string, gone: AbortController) =>
    w.exchange.useTool(who, 'sub_agent', ask, use({ id: key, signal: gone.signal }))
  const [a, b] = [wait('stays', first), wait('stays', second)]
  const c = wait('goes', third)
  await w.rest()
  first.abort()
  third.abort()
  expect(await w.until(c)).toMatchObject({ ok: false, value: { outcome: 'cancelled' } })
  expect(await w.until(b)).toMatchObject({ value: { outcome: 'completed' } })
  expect(await a).toEqual(await b)
})

test("a retry can read the answer of a client's turn, however little of an output may be stored", async () => {
  const w = await world({
    agents: { coder: { script: () => 'x'.repeat(500) } },
    limits: { resultBytesMax: 100 },
  })
  const first = await retry(w, 'key')
  expect(first).toMatchObject({ outcome: 'completed', truncated: true })
  expect(await retry(w, 'key')).toEqual(first)
})
