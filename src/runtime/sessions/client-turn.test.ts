/**
 * Clients outside: their calls have a caller, a place in a flow and a record; what they leave is cancelled.
 */
import { expect, test } from 'vitest'
import type { Json } from '../../model/json.ts'
import { world, type World } from '../../../test/kits/world.ts'
import type { ToolUse } from './client-turn.ts'
import type { Who } from '../desk/asker.ts'
import type { ToolAnswer } from '../kernel/ports.ts'

const use = (more: Partial<ToolUse> = {}): ToolUse => ({
  signal: new AbortController().signal,
  id: null,
  trace: null,
  ...more,
})

const client = async (w: World, name = 'test'): Promise<Who> => ({
  kind: 'session',
  session: await w.exchange.clientSession(name, '/tmp'),
})

const valueOf = (answer: Awaited<ReturnType<World['exchange']['useTool']>>): Record<string, Json> =>
  (answer as ToolAnswer).value as Record<string, Json>

test('a client calls an agent at depth 0, and is on record as the caller', async () => {
  const w = await world({ agents: { coder: { script: (turn) => `did ${turn.task}` } } })
  const who = await client(w)
  const value = valueOf(
    await w.until(w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'it' }, use())),
  )
  expect(value).toMatchObject({ success: true, output: 'did it', outcome: 'completed' })
  expect(await w.exchange.call(value['call_id'] as string)).toMatchObject({
    caller: 'external',
    callerSession: 'ses_client-test',
    target: 'coder',
    depth: 1,
    path: ['external', 'coder'],
  })
  await w.rest()
  expect((await w.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['completed', 'completed'])
})

test('several calls of one client run side by side, at most ten', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(1000, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const who = await client(w)
  const answers = await w.until(
    Promise.all(
      Array.from({ length: 11 }, (_, n) =>
        w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: `t${n}` }, use()),
      ),
    ),
  )
  expect(answers.map((answer) => valueOf(answer)['outcome']).toSorted()).toEqual([
    ...Array.from({ length: 10 }, () => 'completed'),
    'refused',
  ])
  expect(w.clock.now() - 1_800_000_000_000).toBeLessThan(3000)
})

test('a client that goes away has cancelled: its call and the callee end', async () => {
  let aborted = false
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          turn.signal.addEventListener('abort', () => (aborted = true))
          await w.clock.sleep(1e7, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const gone = new AbortController()
  const answer = w.exchange.useTool(
    await client(w),
    'sub_agent',
    { agent_name: 'coder', task: 'long' },
    use({ signal: gone.signal }),
  )
  await w.rest()
  gone.abort()
  expect(await w.until(answer)).toMatchObject({ ok: false, value: { outcome: 'cancelled' } })
  await w.rest()
  expect(aborted).toBe(true)
  expect((await w.events('call.ended')).map(({ event }) => event.outcome)).toEqual(['cancelled'])
})

test('a call in the background outlives the request that made it, and is waited for in slices', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(150_000, turn.signal)
          return 'at last'
        },
      },
    },
  })
  const who = await client(w)
  const started = valueOf(
    await w.until(
      w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'long', background: true }, use()),
    ),
  )
  expect(started).toMatchObject({ outcome: null, call_id: expect.stringMatching(/^call_/) as string })
  const slices: Json[] = []
  for (let value: Record<string, Json> = started; value['outcome'] === null;) {
    value = valueOf(
      await w.until(
        w.exchange.useTool(
          who,
          'wait_for_call',
          { call_id: started['call_id'] as string, timeout_seconds: 50 },
          use(),
        ),
      ),
    )
    slices.push(value['outcome'] ?? null)
  }
  expect(slices).toEqual([null, null, 'completed'])
  const other = await client(w, 'other')
  expect(
    await w.exchange.useTool(other, 'wait_for_call', { call_id: started['call_id'] as string }, use()),
  ).toMatchObject({ ok: false, value: { error: { code: 'call_unknown' } } })
})

test('the same id twice is one call: the second try gets the answer of the first, also while that runs', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(1000, turn.signal)
          return `did ${turn.task}`
        },
      },
    },
  })
  const who = await client(w)
  const [a, b] = [
    w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'x' }, use({ id: 'key' })),
    w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'x' }, use({ id: 'key' })),
  ]
  const first = await w.until(a)
  expect(await w.until(b)).toEqual(first)
  expect(
    await w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'x' }, use({ id: 'key' })),
  ).toEqual(first)
  expect((await w.events('call.opened')).length).toBe(1)
  expect(
    await w.exchange.useTool(who, 'sub_agent', { agent_name: 'coder', task: 'other' }, use({ id: 'key' })),
  ).toMatchObject({ code: 'message_already_sent' })
})

test('a client has no tools for files; a tool that is turned off says so in its own shape', async () => {
  const w = await world({ agents: { coder: {} } })
  const who = await client(w)
  expect(await w.exchange.useTool(who, 'shell', { command: 'echo' }, use())).toMatchObject({
    ok: false,
    value: { error: { code: 'tool_disabled' } },
  })
  expect(await w.exchange.useTool(who, 'subagent', { task: 'x' }, use())).toMatchObject({
    ok: false,
    value: {
      success: false,
      summary: '',
      error: expect.stringContaining('subagent') as string,
      correlation_id: expect.stringMatching(/^call_/) as string,
    },
  })
  const names = ((await w.exchange.toolsFor(who)) as { name: string }[]).map(({ name }) => name)
  expect(names).toEqual(
    expect.arrayContaining(['sub_agent', 'call_agent', 'send_agent_message', 'wait_for_session']),
  )
  expect(names).not.toContain('shell')
  expect(names).not.toContain('subagent')
})

test('a calling tool that is not offered is refused on record, once, whoever tries again', async () => {
  const w = await world({ agents: { coder: {} } })
  const who = await client(w)
  const value = valueOf(
    await w.until(w.exchange.useTool(who, 'subagent', { task: 'x' }, use({ id: 'once' }))),
  )
  expect(await w.exchange.call(value['correlation_id'] as string)).toMatchObject({
    outcome: 'refused',
    caller: 'external',
    callerSession: 'ses_client-test',
    tool: 'subagent',
    task: 'x',
    refusal: { code: 'tool_disabled', tool: 'subagent' },
  })
  expect(
    valueOf(await w.until(w.exchange.useTool(who, 'subagent', { task: 'x' }, use({ id: 'once' })))),
  ).toEqual(value)
  await w.rest()
  expect((await w.events('call.refused')).length).toBe(1)
  expect((await w.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['completed'])
})

test('a client writes to a session and spawns one; both are its own, one hop deep', async () => {
  const w = await world({ agents: { coder: { script: (turn) => `did ${turn.task}` } } })
  const who = await client(w)
  const made = valueOf(
    await w.exchange.useTool(
      who,
      'create_agent_session',
      { cwd: '/tmp', agent: 'coder', initialMessage: 'first' },
      use(),
    ),
  )
  const id = made['sessionId'] as `ses_${string}`
  expect(await w.until(w.exchange.useTool(who, 'wait_for_session', { sessionId: id }, use()))).toMatchObject({
    value: { status: 'idle', lastMessage: { content: 'did first' }, depth: 1, parent: 'ses_client-test' },
  })
  expect(
    await w.exchange.useTool(who, 'send_agent_message', { sessionId: id, message: 'second' }, use()),
  ).toMatchObject({ ok: true, value: { status: 'dispatched' } })
  await w.until(w.exchange.waitForSession({ kind: 'user' }, id, 10_000, use().signal))
  expect((await w.events('message.sent')).map(({ event }) => [event.from, event.source])).toEqual([
    ['ses_client-test', 'agent'],
    ['ses_client-test', 'agent'],
  ])
})
