/** What goes wrong with agents that we drive. Whatever it is: one outcome, in time, and nobody left behind. */
import { expect, test, vi } from 'vitest'
import { explain, type Refusal } from '../../src/model/refusal.ts'
import { driveFake } from '../kits/driven.ts'

test('a process that dies is loaded again once, and hears that it was interrupted', async () => {
  const { call, log } = await driveFake({ diesAt: 1 })
  const answer = await call('say whole')
  expect(answer).toMatchObject({ outcome: 'completed', output: 'half\nwhole' })
  expect(log().filter((entry) => 'load' in entry)).toHaveLength(1)
  expect(log().findLast((entry) => 'prompt' in entry)?.['prompt']).toContain('You were interrupted')
})

test('a process that dies again is lost, with what it had said', async () => {
  const { call } = await driveFake()
  const answer = await call('say half\ndie')
  expect(answer).toMatchObject({ outcome: 'lost', output: expect.stringContaining('half') })
  expect(answer.errors).toEqual(['lost: fake: its process ended (exit code 3)'])
})

test('an agent that cannot load its sessions is lost with its process', async () => {
  const { call, log } = await driveFake({ canLoad: false })
  expect(await call('say half\ndie')).toMatchObject({ outcome: 'lost' })
  expect(log().filter((entry) => 'prompt' in entry)).toHaveLength(1)
})

test.each(['cancelled', 'end_turn', 'none'] as const)(
  'a deadline is kept with partial text by an agent that answers a cancel with %s',
  async (cancelAnswer) => {
    const { call, processes } = await driveFake({ cancelAnswer })
    const answer = await call('say half\nhang', { timeout_seconds: 4 })
    expect(answer).toMatchObject({ outcome: 'timed_out', output: expect.stringContaining('half') })
    await vi.waitFor(() => expect(processes()).toEqual([]), { timeout: 15_000 })
  },
)

test('a process that ignores SIGTERM, and a child that outlives it, end with the turn', async () => {
  const { call, processes, log } = await driveFake({ ignoresSigterm: true, cancelAnswer: 'none' })
  const answer = await call('child\nsay half\nhang', { timeout_seconds: 4 })
  expect(answer).toMatchObject({ outcome: 'timed_out' })
  expect(log().some((entry) => 'child' in entry)).toBe(true)
  await vi.waitFor(() => expect(processes()).toEqual([]), { timeout: 15_000 })
})

test('a cancel reaches the agent, its process group, and what it had called', async () => {
  const world = await driveFake({}, {}, { agents: { slow: { script: [{ hang: true }] } } })
  const { served, processes, events, log } = world
  const ask = JSON.stringify({ agent_name: 'slow', task: 'wait' })
  const running = world.call(`child\ntool sub_agent ${ask}`, { allow_nested_calls: true })
  await vi.waitFor(async () => expect(await events('call.opened')).toHaveLength(2), { timeout: 10_000 })
  const [first] = await events('call.opened')
  await served.line.sessions.cancel(first?.target ?? '', {})
  expect(await running).toMatchObject({ outcome: 'cancelled' })
  await vi.waitFor(() => expect(processes()).toEqual([]), { timeout: 15_000 })
  expect((await events('call.ended')).map(({ outcome }) => outcome)).toEqual(['cancelled', 'cancelled'])
  expect(log().some((entry) => 'cancelled' in entry)).toBe(true)
})

test('silence ends a turn, however much time it has left', async () => {
  const { call } = await driveFake({}, {}, { limits: { drivenInactivityMs: 300 } })
  expect(await call('say half\nhang')).toMatchObject({ outcome: 'timed_out' })
})

test.each([
  [{ loggedOut: true }, /agent_unavailable: the agent is not logged in .*log in with the program itself/],
  [{ overLimit: true }, /agent_unavailable: the agent is over its limit .*usage limit/],
  [{ protocolVersion: 7 }, /agent_unavailable: it speaks version 7 of the protocol/],
])('what keeps it from working is said with the cure: %j', async (settings, words) => {
  const { call, served } = await driveFake(settings)
  const answer = await call('say hi')
  expect(answer).toMatchObject({ outcome: 'failed', output: '' })
  expect(answer.errors.join()).toMatch(words)
  // From then on it is known before a call, for a while.
  expect(await served.line.calls.open({ agent: 'fake', task: 'say hi' })).toMatchObject({
    code: 'agent_unavailable',
  })
})

test.each([
  ['unexpected status 401 Unauthorized', /agent_unavailable: Codex is not logged in .*run "codex login"/],
  ['stream disconnected: error sending request', /agent_unavailable: Codex could not ask its model \(stream/],
])('what an adapter says in place of an answer is no success: %s', async (adapterSays, words) => {
  const { call, served } = await driveFake({ version: '2.6.0', adapterSays }, { preset: 'codex' })
  const answer = await call('say hi')
  expect(answer).toMatchObject({ outcome: 'failed' })
  expect(answer.errors.join()).toMatch(words)
  expect(await served.line.calls.open({ agent: 'fake', task: 'say hi' })).toMatchObject({
    code: 'agent_unavailable',
  })
})

test('words of a model, and those of an adapter too old to tell them apart, are an answer', async () => {
  for (const settings of [{ version: '2.6.0' }, { version: '1.0.0', adapterSays: 'hi' }]) {
    const { call } = await driveFake(settings, { preset: 'codex' })
    expect(await call('say hi')).toMatchObject({ outcome: 'completed', output: 'hi' })
  }
})

test('a program that is too old is named with its version, and with the cure', async () => {
  const { call } = await driveFake({ version: '0.9.0' }, { preset: 'opencode' })
  const answer = await call('say hi')
  expect(answer).toMatchObject({ outcome: 'failed', output: '' })
  expect(answer.errors.join()).toMatch(
    /agent_unavailable: it has version 0\.9\.0, and at least 1\.0\.0 is needed.*update it/,
  )
})

test.each(['initialize', 'session/new', 'session/prompt'] as const)(
  'an agent that never answers %s is kept to the deadline, and nobody is left',
  async (mute) => {
    const { call, processes } = await driveFake({ mute })
    const answer = await call('say hi', { timeout_seconds: 2 })
    expect(answer).toMatchObject({ outcome: 'timed_out', output: '' })
    await vi.waitFor(() => expect(processes()).toEqual([]), { timeout: 15_000 })
  },
)

test('a program that is not installed is refused before anything is started', async () => {
  const { served, events } = await driveFake({}, { command: ['no-such-agent', '--acp'] })
  expect(await served.line.calls.open({ agent: 'fake', task: 'say hi' })).toMatchObject({
    code: 'agent_unavailable',
    why: 'the program no-such-agent is not installed',
  })
  expect((await events('call.refused'))[0]?.refusal).toMatchObject({ code: 'agent_unavailable' })
})

test('a restriction that nobody could keep is refused, with what can be had', async () => {
  const { served } = await driveFake()
  const asked = { agent: 'fake', task: 'say hi', allowed_tools: ['read'] }
  const refusal = await served.line.calls.open(asked)
  expect(refusal).toMatchObject({ code: 'cannot_restrict', agent: 'fake' })
  expect(explain(refusal as Refusal)).toMatch(
    /allowed_tools cannot be kept[\s\S]*call it without allowed_tools/,
  )
})
