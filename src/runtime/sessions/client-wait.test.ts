/** Retries that come while the first try still runs: both are answered at the same moment and alike. */
import { expect, test } from 'vitest'
import type { World, WorldOptions } from '../../../test/kits/world.ts'
import { ask, client, coder, mortal, retry, use } from '../../../test/kits/mortal.ts'
import { pageUnitsMax } from '../../model/limits.ts'
import { storeRefusal } from '../kernel/faults.ts'
import type { ToolAnswer } from '../kernel/ports.ts'
import { StoreUnavailable } from '../kernel/store-health.ts'

/** Commits that open a call wait until they are let go, and then the disk has failed. */
function failCalls({ node: { runtime } }: World): { reached: Promise<void>; fail: () => void } {
  const transact = runtime.store.transact.bind(runtime.store)
  let fail = (): void => undefined
  const failed = new Promise<void>((resolve) => (fail = resolve))
  let reach = (): void => undefined
  const reached = new Promise<void>((resolve) => (reach = resolve))
  runtime.store.transact = async (keys, work) => {
    if (!keys.some((key) => key.startsWith('call:'))) return transact(keys, work)
    reach()
    await failed
    throw new StoreUnavailable({
      code: 'store_unavailable',
      path: '/data/tieline.db',
      reason: 'the disk is full',
      cure: 'free some space',
      freeBytes: 0,
      retryInMs: 1000,
    })
  }
  return { reached, fail }
}

test('a retry that waits while the first try cannot be recorded is told so at once, as the first try is', async () => {
  const w = await mortal(coder)
  const disk = failCalls(w)
  const who = await client(w)
  const first = w.exchange.useTool(who, 'sub_agent', ask, use({ id: 'key' }))
  await w.until(disk.reached)
  const again = w.exchange.useTool(who, 'sub_agent', ask, use({ id: 'key' }))
  const told = Promise.allSettled([first, again])
  await w.rest()
  const at = w.clock.now()
  disk.fail()
  const answers = await w.until(told)
  expect(answers.map((one) => one.status === 'rejected' && storeRefusal(one.reason)?.code)).toEqual([
    'store_unavailable',
    'store_unavailable',
  ])
  // Nobody waited until somebody looked for what was lost.
  expect(w.clock.now() - at).toBeLessThan(500)
})

test('a retry before a call in the background is open is answered when it is, not when it has ended', async () => {
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
  const { store } = w.node.runtime
  const transact = store.transact.bind(store)
  let [reach, goOn] = [(): void => undefined, (): void => undefined]
  const reached = new Promise<void>((resolve) => (reach = resolve))
  const held = new Promise<void>((resolve) => (goOn = resolve))
  store.transact = async (keys, work) => {
    if (keys.some((key) => key.startsWith('call:'))) {
      reach()
      await held
    }
    return transact(keys, work)
  }
  const who = await client(w)
  const asked = { ...ask, background: true }
  const first = w.exchange.useTool(who, 'sub_agent', asked, use({ id: 'key' }))
  await w.until(reached)
  const again = w.exchange.useTool(who, 'sub_agent', asked, use({ id: 'key' }))
  await w.rest()
  const at = w.clock.now()
  goOn()
  const [one, other] = await w.until(Promise.all([first, again]))
  expect(w.clock.now() - at).toBeLessThan(5000)
  expect(other).toEqual(one)
  expect(other).toMatchObject({ value: { outcome: null } })
})

test('a retry finds its call in the background behind long calls that its session opened first', async () => {
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
  const { store } = w.node.runtime
  const transact = store.transact.bind(store)
  const held: (() => void)[] = []
  store.transact = async (keys, work) => {
    // The call of the first turn is opened last.
    if (keys.some((key) => key.startsWith('call:')) && keys.some((key) => key === 'flow:flow_first'))
      await new Promise<void>((resolve) => held.push(resolve))
    return transact(keys, work)
  }
  const who = await client(w)
  const background = { ...ask, background: true, max_context_tokens: 1_000_000 }
  const first = w.exchange.useTool(who, 'sub_agent', background, use({ id: 'first' }))
  await w.rest()
  for (let n = 0; n < 3; n += 1)
    await retry(w, `other${n}`, { ...background, task: `t${n}`, input: 'x'.repeat(pageUnitsMax) })
  for (const goOn of held) goOn()
  const began = ((await w.until(first)) as ToolAnswer).value
  const at = w.clock.now()
  expect(await retry(w, 'first', background)).toEqual(began)
  expect(w.clock.now() - at).toBeLessThan(5000)
})
