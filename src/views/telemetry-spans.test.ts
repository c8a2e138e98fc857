import { expect, test } from 'vitest'
import { ended, sent, stepped } from '../../test/kits/store.ts'
import { findSent, findSpan, incoming, recordRun, telemetryDesk } from '../../test/kits/telemetry.ts'
import type { StoredEvent } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import { parseTraceparent, stepSpanId, toTraceId, renderTraceparent, turnSpanId } from '../model/trace.ts'
import { spanFold } from './telemetry-spans.ts'
import { telemetryView } from './telemetry.ts'

const desk = telemetryDesk()
const { deps, exportSpans } = desk

test('a run with a call is one tree: the turn, its steps, the call, the turn below it', async () => {
  const events = await recordRun()
  const spans = await exportSpans(events)
  const { turn, flow, session } = findSent(events)
  const usages = events.flatMap(({ event }) =>
    event.type === 'step.ended' && event.usage !== null ? [event.usage] : [],
  )
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([toTraceId(flow)]))
  const root = findSpan(spans, 'invoke_agent planner')
  expect(root.parentSpanId).toBeUndefined()
  expect(root.spanId).toBe(turnSpanId(turn ?? 'turn_'))
  expect(root.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'tieline',
    'gen_ai.agent.name': 'planner',
    'gen_ai.agent.id': 'planner',
    'gen_ai.conversation.id': session,
    'gen_ai.usage.input_tokens': usages[0]?.input,
    'gen_ai.usage.output_tokens': usages[0]?.output,
    'tieline.turn': turn,
    'tieline.flow': flow,
    'tieline.outcome': 'completed',
    'tieline.source': 'user',
    'tieline.depth': 0,
  })
  expect(root.kind).toBe(1)
  expect(root.status.code).toBeUndefined()
  const call = spans.find((span) => span.attributes['tieline.callee'] === 'coder')
  expect(call).toMatchObject({
    name: 'execute_tool sub_agent',
    parentSpanId: root.spanId,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'sub_agent',
      'tieline.outcome': 'completed',
      'tieline.cause': 'answered',
      'tieline.tokens.used': (usages[1]?.input ?? 0) + (usages[1]?.output ?? 0),
    },
  })
  const child = findSpan(spans, 'invoke_agent coder')
  expect(child.parentSpanId).toBe(call?.spanId)
  expect(child.attributes).toMatchObject({
    'tieline.depth': 1,
    'tieline.call': call?.attributes['tieline.call'],
    'gen_ai.usage.input_tokens': usages[1]?.input,
  })
  const chat = spans.filter((span) => span.attributes['gen_ai.operation.name'] === 'chat')
  expect(
    chat.map((span) => [span.kind, span.parentSpanId, span.attributes['gen_ai.usage.output_tokens']]),
  ).toEqual([
    [3, root.spanId, usages[0]?.output],
    [3, child.spanId, usages[1]?.output],
  ])
  expect(findSpan(spans, 'execute_tool list')).toMatchObject({
    parentSpanId: root.spanId,
    kind: 1,
    attributes: { 'gen_ai.tool.type': 'function' },
  })
})

test('spans have what a request cost, a plan is marked, and what has no price has none', async () => {
  const costs = [{ nanoUsd: 250_000_000, by: 'reported', plan: true } as const, undefined]
  const events = (await recordRun()).map((stored): StoredEvent => {
    const { event } = stored
    if (event.type !== 'step.ended' || event.usage === null) return stored
    const cost = costs.shift()
    const usage = { ...event.usage, ...(cost === undefined ? {} : { cost }) }
    return { ...stored, event: { ...event, usage } }
  })
  const spans = await exportSpans(events)
  const priced = { 'tieline.cost.usd': 0.25, 'tieline.cost.plan_usd': 0.25 }
  expect(findSpan(spans, 'invoke_agent planner').attributes).toMatchObject(priced)
  const chats = spans.filter((span) => span.attributes['gen_ai.operation.name'] === 'chat')
  expect(chats.map(({ attributes }) => attributes['tieline.cost.usd'])).toEqual([0.25, undefined])
  expect(findSpan(spans, 'invoke_agent coder').attributes).not.toHaveProperty('tieline.cost.usd')
})

test('a run with a call says what failed and why, in few words', async () => {
  const spans = await exportSpans(await recordRun())
  expect(findSpan(spans, 'execute_tool read')).toMatchObject({
    status: { code: 2 },
    attributes: { 'error.type': expect.stringMatching(/^[a-z_]+$/) },
  })
  expect(spans.find((span) => span.attributes['tieline.outcome'] === 'refused')).toMatchObject({
    name: 'execute_tool sub_agent',
    status: { code: 2 },
    attributes: { 'error.type': 'self_call' },
  })
})

test('a run with a call has the times of the log', async () => {
  const events = await recordRun()
  const spans = await exportSpans(events)
  const child = findSpan(spans, 'invoke_agent coder')
  expect(BigInt(child.endTimeUnixNano) - BigInt(child.startTimeUnixNano)).toBe(1_500_000_000n)
  const ended = events.find(
    ({ event }) => event.type === 'turn.ended' && event.turn === child.attributes['tieline.turn'],
  )
  expect(child.endTimeUnixNano).toBe(`${ended?.at ?? 0}000000`)
  for (const span of spans)
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
})

test('a run with a call goes on in the trace of the request that began it', async () => {
  const events = await recordRun(incoming)
  const root = findSpan(await exportSpans(events), 'invoke_agent planner')
  expect(root).toMatchObject({
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    parentSpanId: '00f067aa0ba902b7',
    flags: 0x301,
  })
  expect(findSpan(desk.out.spans, 'invoke_agent coder')).toMatchObject({
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    flags: 0x101,
  })
})

test('a run with a call has the ids that were handed on before its spans were made', async () => {
  const events = await recordRun(incoming)
  const view = telemetryView(deps())
  const opened = events.flatMap(({ event }) => (event.type === 'call.opened' ? [event] : []))[0]
  const turn = opened?.turn ?? 'turn_'
  const handed = parseTraceparent(
    renderTraceparent({
      turn,
      flow: opened?.flow ?? 'flow_',
      root: findSent(events).trace,
      key: opened?.key ?? '',
      sampling: view?.sampling ?? null,
    }),
  )
  await view?.close()
  const spans = await exportSpans(events)
  expect(spans.find((span) => span.spanId === handed?.spanId)).toMatchObject({
    name: 'execute_tool sub_agent',
    traceId: handed?.traceId,
  })
  expect(handed?.spanId).toBe(stepSpanId(turn, opened?.key ?? ''))
})

test('a run with a call is the same to the byte when it is exported again', async () => {
  const events = await recordRun()
  const first = JSON.stringify(await exportSpans(events))
  desk.out.spans.length = 0
  expect(JSON.stringify(await exportSpans(events))).toBe(first)
})

test('a turn that began before is left out; its later calls have the trace of their flow', async () => {
  const events = await recordRun()
  const after = events.findIndex(({ event }) => event.type === 'step.ended')
  const spans = await exportSpans(events.slice(after))
  expect(spans.map((span) => span.name)).not.toContain('invoke_agent planner')
  expect(findSpan(spans, 'invoke_agent coder').traceId).toBe(toTraceId(findSent(events).flow))
})

test('an agent that has a title is called by it, and a provider by what OpenTelemetry calls it', async () => {
  const at = 1_800_000_000_000
  const session: SessionId = 'ses_1'
  const grant = {
    agent: 'agent-1',
    depth: 0,
    subagentDepth: 0,
    path: [],
    authority: { tools: null, nested: true },
    tokensMax: null,
    maxIterations: 1,
  }
  const overloaded = 'provider_overloaded: try later'
  const step = {
    ...stepped(session, 'turn_1', { input: 1, output: 0, estimated: true }),
    name: 'main/gemini-9',
    output: { text: '', toolCalls: [], finish: 'error', error: overloaded },
    startedAt: at - 5,
  }
  const spans = await exportSpans(
    [
      { seq: 1, at, event: { ...sent(session, 'turn_1'), grant } },
      { seq: 2, at, event: step },
      {
        seq: 3,
        at: at + 1,
        event: { ...ended(session, 'turn_1', 1), output: '', outcome: 'failed', error: overloaded },
      },
    ],
    deps(
      {},
      {
        agent: () => ({ name: 'agent-1', title: 'Ann' }) as never,
        providerKind: (name) => (name === 'main' ? 'google' : undefined),
      },
    ),
  )
  expect(findSpan(spans, 'chat gemini-9').attributes).toMatchObject({
    'gen_ai.provider.name': 'gcp.gemini',
    'gen_ai.request.model': 'gemini-9',
    'gen_ai.response.finish_reasons': ['error'],
    'error.type': 'provider_overloaded',
    'tieline.usage.estimated': true,
  })
  expect(findSpan(spans, 'invoke_agent Ann')).toMatchObject({
    status: { code: 2 },
    attributes: { 'gen_ai.agent.id': 'agent-1', 'error.type': 'provider_overloaded' },
  })
})

test('a model has ended when its first tool began, although both were written later', async () => {
  const [message] = (await recordRun()).filter(({ event }) => event.type === 'message.sent')
  if (message === undefined) throw new Error('nothing was sent')
  const at = message.at
  const step = (kind: 'model' | 'tool', startedAt: number): StoredEvent['event'] => ({
    type: 'step.ended',
    session: message.event.session,
    turn: message.event.turn,
    kind,
    name: kind,
    key: kind,
    input: null,
    ok: true,
    output: 'x',
    usage: null,
    startedAt,
  })
  const view = telemetryView(deps())
  view?.events([
    message,
    { seq: 8, at: at + 1000, event: step('model', at + 100) },
    { seq: 9, at: at + 1000, event: step('tool', at + 400) },
  ])
  await view?.close()
  expect([
    findSpan(desk.out.spans, 'chat model').endTimeUnixNano,
    findSpan(desk.out.spans, 'execute_tool tool').endTimeUnixNano,
  ]).toEqual([`${at + 400}000000`, `${at + 1000}000000`])
})

test('R11: nothing is kept of what has ended, and of what never ends only so much', async () => {
  const events = await recordRun()
  const fold = spanFold({
    sampling: { follow: true, ratio: 1 },
    content: null,
    agent: () => undefined,
    provider: (name) => name,
  })
  fold.collectSpans(events)
  expect(fold.open()).toBe(0)
  const { event, at } = events.find((stored) => stored.event.type === 'message.sent') ?? {
    event: findSent(events),
    at: 0,
  }
  fold.collectSpans(
    Array.from({ length: 10_100 }, (_, n): StoredEvent => ({
      seq: n,
      at,
      event: { ...event, turn: `turn_${n}` } as StoredEvent['event'],
    })),
  )
  expect(fold.open()).toBe(10_000)
})
