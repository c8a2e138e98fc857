/** Clients outside: what they may use, what they are told later, and what is done for those who are gone. */
import { expect, test } from 'vitest'
import { ask, client, coder, killAfter, mortal, next, use } from '../../../test/kits/mortal.ts'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import { Fenced } from '../kernel/faults.ts'
import type { Tool, ToolAnswer } from '../kernel/ports.ts'
import { StoreUnavailable } from '../kernel/store-health.ts'
import { untilUnrecorded } from './client-answer.ts'

const background = { ...ask, background: true }

const slowCoder = (answer: () => string): Parameters<typeof world>[0] => ({
  agents: {
    coder: {
      script: async (turn) => {
        await turn.think('a moment')
        return answer()
      },
    },
  },
})

test('R7: a client may use what a flow may, and no more', async () => {
  const w = await world({ ...coder, limits: { flowTokensMax: 5000 } })
  await w.until(w.exchange.useTool(await client(w), 'sub_agent', ask, use()))
  expect((await w.events('message.sent')).map(({ event }) => event.grant.tokensMax)).toEqual([5000])
})

test('a client is told why its call in the background failed', async () => {
  const w = await world({ agents: { coder: { script: () => Promise.reject(new Error('it broke')) } } })
  await w.until(w.exchange.useTool(await client(w), 'sub_agent', background, use()))
  await w.pass(1000)
  expect((await w.events('notice.raised')).map(({ event }) => event.text)).toEqual([
    expect.stringMatching(/^coder: failed\n.*it broke/s) as string,
  ])
})

test('a client that has read the result of its call in the background is not told of it', async () => {
  const w: World = await world({
    agents: { coder: { script: async (turn) => (await w.clock.sleep(5000, turn.signal), 'done') } },
  })
  const who = await client(w)
  const begun = (await w.until(w.exchange.useTool(who, 'sub_agent', background, use()))) as ToolAnswer
  const call = valueOf(begun)['call_id'] as string
  const read = await w.until(w.exchange.useTool(who, 'wait_for_call', { call_id: call }, use()))
  expect(read).toMatchObject({ ok: true, value: { output: 'done' } })
  await w.pass(1000)
  expect(await w.events('notice.raised')).toEqual([])
})

test('after a crash the turn of a client ends although its call in the background had ended before', async () => {
  const options = slowCoder(() => 'done')
  const w = await mortal(options)
  const died = killAfter(w, 'turn.ended')
  void w.exchange.useTool(await client(w), 'sub_agent', background, use()).catch(() => undefined)
  await w.until(died)
  const after = await next(w, options)
  await after.pass(3000)
  const [claimed] = await after.events('session.claimed')
  const [, own] = await after.events('turn.ended')
  expect(own?.event).toMatchObject({ session: 'ses_client-test', outcome: 'completed' })
  // Nobody looked for a lost hint meanwhile.
  expect((own?.at ?? 0) - (claimed?.at ?? 0)).toBeLessThan(500)
})

test('a call that was refused is no tool that its client has used', async () => {
  const w = await world(coder)
  const who = await client(w)
  await w.until(w.exchange.useTool(who, 'sub_agent', { agent_name: 'nobody', task: 'x' }, use()))
  await w.until(w.exchange.useTool(who, 'sub_agent', ask, use()))
  await w.rest()
  const own = (await w.events('turn.ended')).filter(({ event }) => event.session === 'ses_client-test')
  expect(own.map(({ event }) => event.toolCalls)).toEqual([[], ['sub_agent']])
})

test('R2: a client is told of a turn that could not be recorded only where the disk is why', async () => {
  const w = await world(coder)
  const { fault, forget } = untilUnrecorded(w.node.runtime, 'turn_x')
  let told: unknown = null
  void fault.catch((reason: unknown) => (told = reason))
  const tell = (reason: Error): void => {
    for (const hear of w.node.runtime.unrecordedWaiters.get('turn_x') ?? []) hear(reason)
  }
  tell(new Fenced('taken over'))
  await w.rest()
  expect(told).toBeNull()
  const unavailable = new StoreUnavailable({
    code: 'store_unavailable',
    path: '/data/tieline.db',
    reason: 'the disk is full',
    cure: 'free some space',
    freeBytes: 0,
    retryInMs: 1000,
  })
  tell(new Fenced('not known', { cause: unavailable }))
  await w.rest()
  expect(told).toMatchObject({ cause: unavailable })
  forget()
  expect(w.node.runtime.unrecordedWaiters.size).toBe(0)
})

test('of many uses in a live turn those that wait to begin are not done for a client that is gone', async () => {
  let done = 0
  const counting: Tool = {
    name: 'count-it',
    effect: 'read',
    calling: false,
    describe: () => ({ name: 'count-it', description: '', input: {} }),
    run: async () => ({ ok: true, value: (done += 1) }),
  }
  const w: World = await world({
    agents: { driven: { script: async (turn) => (await w.clock.sleep(5000, turn.signal), 'ok') } },
    tools: [counting],
  })
  void w.ask('driven', 'go')
  await w.rest()
  const [turn] = w.node.runtime.running.keys()
  const gone = new AbortController()
  // The gate takes its own time, so the uses begin here: four in this round, and the others later.
  const { useInTurn } = await import('./live-turn.ts')
  const running = turn === undefined ? undefined : w.node.runtime.running.get(turn)
  if (running === undefined) throw new Error('nothing runs')
  const uses = Array.from({ length: 10 }, (_, n) =>
    useInTurn(w.node.runtime, running, { tool: 'count-it', input: { n } }, use({ signal: gone.signal })),
  )
  await Promise.resolve()
  gone.abort()
  const answers = (await w.until(Promise.all(uses))) as ToolAnswer[]
  expect(done).toBeGreaterThan(0)
  expect(done).toBeLessThanOrEqual(4)
  expect(answers.at(-1)).toMatchObject({ ok: false, value: { error: { code: 'cancelled' } } })
})
