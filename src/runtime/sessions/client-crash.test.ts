/**
 * Clients outside, and a server that dies: what they asked for goes on, and a retry with the same id finds
 * the outcome of the first try.
 */
import { expect, test } from 'vitest'
import type { Event } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { world, type World, type WorldOptions } from '../../../test/kits/world.ts'
import type { Store, ToolAnswer, Tx } from '../kernel/ports.ts'
import type { ToolUse } from './client-turn.ts'
import type { Who } from '../desk/asker.ts'

const use = (more: Partial<ToolUse> = {}): ToolUse => ({
  signal: new AbortController().signal,
  id: null,
  trace: null,
  ...more,
})
const client = async (w: World): Promise<Who> => ({
  kind: 'session',
  session: await w.exchange.clientSession('test', '/tmp'),
})
const ask = { agent_name: 'coder', task: 'it' }
const retry = async (w: World, id: string, input: Json = ask): Promise<Record<string, Json>> =>
  ((await w.until(w.exchange.useTool(await client(w), 'sub_agent', input, use({ id })))) as ToolAnswer)
    .value as Record<string, Json>

/** The process is gone without a word: it writes nothing more, and its lease runs out. */
function kill({ node: { runtime } }: World): void {
  runtime.store.transact = () => new Promise<never>(() => undefined)
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  for (const running of runtime.running.values()) running.abort.abort(new Error('killed'))
  runtime.running.clear()
  runtime.turnWaiters.clear()
}

/**
 * A world whose node has the store to itself, so that it can die while the store lives on in the next world.
 */
async function mortal(options: WorldOptions): Promise<World> {
  const w = await world(options)
  const { store } = w
  Object.assign(w.node.runtime, {
    store: new Proxy(
      {},
      {
        get(own: Record<string | symbol, unknown>, name) {
          if (name in own) return own[name]
          const value = Reflect.get(store, name) as unknown
          return typeof value === 'function' ? value.bind(store) : value
        },
      },
    ) as Store,
  })
  return w
}

const next = async (w: World, options: WorldOptions): Promise<World> => {
  await w.pass(6000)
  return world({ ...options, store: w.store, clock: w.clock })
}

/**
 * Runs until a commit holds an event of that type, and dies as soon as it is durable: before anybody could be
 * told.
 */
function killAfter(w: World, type: Event['type'], count = 1): Promise<void> {
  const { store } = w.node.runtime
  const transact = store.transact.bind(store)
  let left = count
  return new Promise((died) => {
    store.transact = async (keys, work) => {
      let hit = false
      const result = await transact(keys, (tx) => work(watching(tx, () => (hit = true), type)))
      if (!hit || (left -= 1) > 0) return result
      kill(w)
      died()
      return new Promise<never>(() => undefined)
    }
  })
}

const watching = (tx: Tx, hit: () => void, type: Event['type']): Tx =>
  new Proxy(tx, {
    get(target, name) {
      if (name !== 'append') return Reflect.get(target, name) as unknown
      return (...events: Event[]) => {
        if (events.some((event) => event.type === type)) hit()
        target.append(...events)
      }
    },
  })

const coder: WorldOptions = { agents: { coder: { script: (turn) => `did ${turn.task}` } } }

for (const [type, count] of [
  ['message.sent', 1],
  ['call.opened', 1],
  ['turn.ended', 1],
  ['turn.ended', 2],
] as const) {
  test(`R2: the server dies after ${type} (${count}): a retry gets the answer of the one call`, async () => {
    const w = await mortal(coder)
    const died = killAfter(w, type, count)
    let answered = false
    void w.exchange.useTool(await client(w), 'sub_agent', ask, use({ id: 'key' })).then(
      () => (answered = true),
      () => undefined,
    )
    await w.until(died)
    // Nobody is told before the end of the client's own turn is durable.
    expect(answered).toBe(count === 2)
    const after = await next(w, coder)
    const value = await retry(after, 'key')
    expect(value).toMatchObject({
      success: true,
      outcome: 'completed',
      output: 'did it',
      call_id: expect.stringMatching(/^call_/) as string,
    })
    expect(await retry(after, 'key')).toEqual(value)
    expect((await after.events('call.opened')).map(({ event }) => event.call)).toEqual([value['call_id']])
  })
}

test('R2: a client is not told before the end of its own turn is on disk', async () => {
  const w = await mortal(coder)
  const { store } = w.node.runtime
  const transact = store.transact.bind(store)
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  let callEnded = false
  store.transact = async (keys, work) => {
    if (callEnded) await released
    return transact(keys, (tx) => work(watching(tx, () => (callEnded = true), 'call.ended')))
  }
  let answered = false
  const answer = w.exchange
    .useTool(await client(w), 'sub_agent', ask, use())
    .then((value) => ((answered = true), value))
  await w.pass(500)
  expect((await w.events('call.ended')).length).toBe(1)
  expect(answered).toBe(false)
  release()
  expect(await w.until(answer)).toMatchObject({ ok: true })
})

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

test('nobody asks again after the server died: the call goes on to its end, and the record has it', async () => {
  const slow: WorldOptions = {
    agents: {
      coder: {
        script: async (turn) => {
          await turn.think('a step')
          await w.clock.sleep(20_000, turn.signal)
          return 'at last'
        },
      },
    },
  }
  const w = await mortal(slow)
  for (let n = 0; n < 3; n += 1)
    void w.exchange
      .useTool(await client(w), 'sub_agent', { ...ask, task: `t${n}` }, use())
      .catch(() => undefined)
  await w.rest()
  kill(w)
  const after = await next(w, slow)
  await after.pass(40_000)
  expect((await after.events('call.ended')).map(({ event }) => [event.outcome, event.output])).toEqual(
    Array.from({ length: 3 }, () => ['completed', 'at last']),
  )
  expect(
    (await after.events('turn.ended'))
      .filter(({ event }) => event.session === 'ses_client-test')
      .map(({ event }) => event.outcome),
  ).toEqual(['completed', 'completed', 'completed'])
})

test('the server was stopped while a client waited: the retry gets the answer, and nothing was cancelled', async () => {
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
  const first = w.exchange
    .useTool(await client(w), 'sub_agent', ask, use({ id: 'key' }))
    .catch(() => 'stopped')
  await w.rest()
  void w.node.stop()
  expect(await w.until(first)).toBe('stopped')
  const after = await next(w, slow)
  expect(await retry(after, 'key')).toMatchObject({ outcome: 'completed', output: 'at last' })
})

test('the server was down past the deadline: a call that had ended keeps its outcome, others time out', async () => {
  const w = await mortal(coder)
  const died = killAfter(w, 'turn.ended')
  void w.exchange.useTool(await client(w), 'sub_agent', ask, use({ id: 'ended' })).catch(() => undefined)
  await w.until(died)
  await w.pass(5 * 3_600_000)
  const after = await mortal({ ...coder, store: w.store, clock: w.clock })
  expect(await retry(after, 'ended')).toMatchObject({ outcome: 'completed', output: 'did it' })
  const diedAgain = killAfter(after, 'call.opened')
  void after.exchange
    .useTool(await client(after), 'sub_agent', ask, use({ id: 'open' }))
    .catch(() => undefined)
  await after.until(diedAgain)
  await after.pass(5 * 3_600_000)
  const last = await world({ ...coder, store: w.store, clock: w.clock })
  expect(await retry(last, 'open')).toMatchObject({
    outcome: 'timed_out',
    call_id: expect.stringMatching(/^call_/) as string,
  })
})

test('a turn that is taken up after its deadline has the time to read its record', async () => {
  const w = await mortal(coder)
  const died = killAfter(w, 'turn.ended')
  void w.exchange.useTool(await client(w), 'sub_agent', ask, use({ id: 'ended' })).catch(() => undefined)
  await w.until(died)
  await w.pass(5 * 3_600_000)
  const slow = new Proxy(w.store, {
    get(store, name) {
      const value = Reflect.get(store, name) as unknown
      if (typeof value !== 'function') return value
      if (name !== 'event') return value.bind(store) as unknown
      return async (seq: number) => {
        const stored = await store.event(seq)
        if (stored?.event.type === 'call.ended') await w.clock.sleep(50)
        return stored
      }
    },
  })
  const after = await world({ ...coder, store: slow, clock: w.clock })
  expect(await retry(after, 'ended')).toMatchObject({ outcome: 'completed', output: 'did it' })
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
  expect(
    await after.until(after.exchange.useTool(await client(after), 'sub_agent', ask, use({ id: 'key' }))),
  ).toMatchObject({ ok: false, value: { error: { code: 'cancelled' } } })
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
  expect(await w.until(c)).toMatchObject({ ok: false, value: { error: { code: 'cancelled' } } })
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
