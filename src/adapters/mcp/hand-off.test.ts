import { expect, onTestFinished, test } from 'vitest'
import type { Desk, Desks } from '../../runtime/desk/desk.ts'
import { isRefusal } from '../../model/refusal.ts'
import type { ToolAnswer } from '../../runtime/kernel/ports.ts'
import { systemClock as clock } from '../../runtime/kernel/system-clock.ts'
import { openLine } from '../../open-line.ts'
import { findHandOffMs, useWithin } from './hand-off.ts'

const handOff = (line: { desks: Desks }, waiting: Desk, limitMs: number, signal: AbortSignal) => ({
  limitMs,
  clock,
  signal,
  waiting,
  user: line.desks.as({}),
})

function stoppable(): { signal: AbortSignal; abort: () => void } {
  const stop = new AbortController()
  return { signal: stop.signal, abort: () => stop.abort() }
}

async function open() {
  const line = await openLine({
    agents: {
      quick: { script: [{ say: 'at once' }] },
      slow: { script: [{ say: 'late', delayMs: 1500 }] },
      stuck: { script: [{ hang: true }] },
      codex: { driver: 'acp', command: ['codex-acp'] },
    },
    onWarning: () => undefined,
  })
  onTestFinished(() => line.close())
  const desk = line.desks.as({ client: { name: 'codex-mcp-client', cwd: process.cwd() } })
  const call = async (agent: string, limitMs: number, signal = new AbortController().signal) =>
    (
      (await useWithin(
        desk,
        { agent_name: agent, task: 'go' },
        handOff(line, desk, limitMs, signal),
      )) as ToolAnswer
    ).value as Record<string, unknown>
  return { line, desk, call }
}

test('a client with a fixed limit gets the result in time, or the id of the call and what to do next', async () => {
  const { desk, call } = await open()
  expect(await call('quick', 5000)).toMatchObject({ outcome: 'completed', output: 'at once' })
  const handed = await call('slow', 200)
  expect(handed).toMatchObject({ outcome: null, call_id: expect.stringMatching(/^call_/) })
  expect(JSON.stringify(handed)).toContain('wait_for_call')
  const waited = await desk.tools.use('wait_for_call', { call_id: handed['call_id'] as string })
  expect(waited).toMatchObject({ value: { outcome: 'completed', output: 'late' } })
})

test('a client that cancels while it waits has cancelled the call', async () => {
  const { line, call } = await open()
  const stop = new AbortController()
  const running = call('stuck', 20_000, stop.signal)
  while (line.running() < 2) await clock.sleep(20)
  stop.abort()
  expect(await running).toMatchObject({ outcome: 'cancelled' })
})

test('a client that cancels while its call is begun has cancelled it too', async () => {
  const { line, desk } = await open()
  const stop = new AbortController()
  const use: Desk['tools']['use'] = async (tool, input) => {
    const answer = await desk.tools.use(tool, input)
    if (tool === 'sub_agent') stop.abort()
    return answer
  }
  const slow = { calls: desk.calls, sessions: desk.sessions, tools: { ...desk.tools, use } } as Desk
  const asked = { agent_name: 'stuck', task: 'go' }
  const answer = await useWithin(slow, asked, handOff(line, desk, 20_000, stop.signal))
  expect(answer).toMatchObject({ value: { outcome: 'cancelled' } })
  await line.idle()
})

test('a call that such a client cannot wait for is handed off, whoever is called', async () => {
  const { desk } = await open()
  const find = (program: string, agent: string, more: { timeout_seconds?: number } = {}) =>
    findHandOffMs(desk, program, 'sub_agent', { agent_name: agent, ...more })
  expect(await find('codex-mcp-client', 'codex')).toBe(270_000)
  expect(await find('codex-mcp-client', 'quick')).toBe(270_000)
  expect(await find('codex-mcp-client', 'quick', { timeout_seconds: 271 })).toBe(270_000)
  expect(await find('codex-mcp-client', 'quick', { timeout_seconds: 270 })).toBeNull()
  expect(await find('codex-mcp-client', 'codex', { timeout_seconds: 60 })).toBeNull()
  expect(await find('claude-code', 'codex')).toBeNull()
})

/** A turn that goes on, as which a program speaks. */
async function openTurn() {
  const line = await openLine({
    agents: {
      driven: { script: [{ hang: true }], allowSubAgentCalls: true, tools: ['*'] },
      slow: { script: [{ say: 'at last', delayMs: 300 }] },
      stuck: { script: [{ hang: true }] },
    },
    onWarning: () => undefined,
  })
  onTestFinished(() => line.close())
  line.run('driven', 'go').then(String, () => undefined)
  while (line.running() < 1) await clock.sleep(20)
  const list = await line.desks.as({}).log.flows({})
  const turn = (isRefusal(list) ? undefined : list.flows[0]?.turn) ?? 'turn_none'
  const who = { kind: 'turn' as const, turn }
  const as = (signal: AbortSignal, act: string | null = null) => line.desks.as({ who, signal, act })
  return { line, as }
}

test('a program in a turn that hands off with a key gets the result of its call', async () => {
  const { line, as } = await openTurn()
  const { signal } = new AbortController()
  const asked = { agent_name: 'slow', task: 'go' }
  const answer = await useWithin(as(signal, 'k1'), asked, handOff(line, as(signal), 10_000, signal))
  expect(answer).toMatchObject({ value: { outcome: 'completed', output: 'at last' } })
})

test('a program in a turn that cancels while it waits has cancelled the call', async () => {
  const { line, as } = await openTurn()
  const { signal, abort } = stoppable()
  const asked = { agent_name: 'stuck', task: 'go' }
  const used = useWithin(as(signal), asked, handOff(line, as(signal), 5000, signal))
  while (line.running() < 2) await clock.sleep(20)
  abort()
  await used
  while (line.running() > 1) await clock.sleep(20)
  expect(await line.desks.as({}).calls.list()).toMatchObject({ calls: [{ outcome: 'cancelled' }] })
})
