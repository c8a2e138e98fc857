/**
 * Clients outside, and a server that dies: what they asked for goes on, and a retry with the same id finds
 * the outcome of the first try.
 */
import { expect, test } from 'vitest'
import { takeClientTurn } from '../turns/claim.ts'
import { cancel } from '../turns/ending.ts'
import { world, type WorldOptions } from '../../../test/kits/world.ts'
import {
  use,
  client,
  ask,
  retry,
  kill,
  mortal,
  next,
  killAfter,
  watching,
  coder,
} from '../../../test/kits/mortal.ts'

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

test('R6: two find a lost turn that was told to stop, at once: it ends once', async () => {
  const slow: WorldOptions = {
    agents: { coder: { script: async (turn) => (await w.clock.sleep(20_000, turn.signal), 'at last') } },
  }
  const w = await mortal(slow)
  void w.exchange.useTool(await client(w), 'sub_agent', ask, use()).catch(() => undefined)
  await w.rest()
  kill(w)
  const { runtime } = (await world({ ...slow, store: w.store, clock: w.clock })).node
  const [turn] = await w.store.turns({ session: 'ses_client-test' }, 10)
  if (turn === undefined) throw new Error('the client has no turn')
  await cancel(runtime, turn.id, 'cancelled', 'asked by the user')
  await Promise.all([takeClientTurn(runtime, turn.id), takeClientTurn(runtime, turn.id)])
  const ended = (await w.events('turn.ended')).filter(({ event }) => event.turn === turn.id)
  expect(ended.map(({ event }) => event.outcome)).toEqual(['cancelled'])
})

test('R6: two nodes find a lost turn at once: one of them takes it', async () => {
  const slow: WorldOptions = {
    agents: { coder: { script: async (turn) => (await w.clock.sleep(20_000, turn.signal), 'at last') } },
  }
  const w = await mortal(slow)
  void w.exchange.useTool(await client(w), 'sub_agent', ask, use()).catch(() => undefined)
  await w.rest()
  kill(w)
  const [turn] = await w.store.turns({ session: 'ses_client-test' }, 10)
  if (turn === undefined) throw new Error('the client has no turn')
  const start = async () => (await world({ ...slow, store: w.store, clock: w.clock })).node.runtime
  const [one, other] = [await start(), await start()]
  await Promise.all([takeClientTurn(one, turn.id), takeClientTurn(other, turn.id)])
  const claimed = (await w.events('session.claimed')).filter(({ event }) => event.turn === turn.id)
  expect(claimed.map(({ event }) => event.epoch)).toEqual([turn.epoch + 1])
})
