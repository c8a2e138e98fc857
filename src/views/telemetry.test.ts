import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { collector, type Collector, type ReceivedSpan } from '../../test/collector.ts'
import { world } from '../../test/world.ts'
import type { StoredEvent } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import { parseTraceparent, stepSpanId, traceIdOf, traceparentOf, turnSpanId } from '../model/trace.ts'
import { startRun } from '../runtime/run.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { spanFold } from './telemetry-spans.ts'
import { telemetryView, type TelemetryDeps } from './telemetry.ts'

let out: Collector
beforeEach(async () => {
  out = await collector()
})
afterEach(() => out.close())

const warnings: string[] = []
const deps = (more: Record<string, string> = {}, rest: Partial<TelemetryDeps> = {}): TelemetryDeps => ({
  clock: systemClock,
  version: '9.9.9',
  warn: (text) => warnings.push(text),
  env: { OTEL_EXPORTER_OTLP_ENDPOINT: out.url, ...more },
  ...rest,
})

const secret = `sk-${'a1B2'.repeat(6)}`
const incoming = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

/** A planner that thinks, reads, calls a coder and is refused once; on virtual time. */
async function recorded(trace: string | null = null): Promise<StoredEvent[]> {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) => {
          await turn.think('first')
          await turn.tool('list', { path: '.' })
          await turn.tool('read', { path: 'no-such-file' })
          const { value } = await turn.tool('sub_agent', { agent_name: 'coder', task: `use ${secret}` })
          await turn.tool('sub_agent', { agent_name: 'planner', task: 'again' })
          return String((value as { output: string }).output)
        },
      },
      coder: {
        script: async (turn) => {
          await turn.think('second')
          await w.clock.sleep(1500)
          return 'done'
        },
      },
    },
  })
  await w.until(
    startRun(w.node.line, {
      to: { agent: 'planner', cwd: process.cwd() },
      text: `my key is ${secret}`,
      timeoutMs: undefined,
      maxTokens: undefined,
      trace,
    } as Parameters<typeof startRun>[1]),
  )
  return (await w.store.read(0, {}, 10_000)).events
}

async function exported(
  events: readonly StoredEvent[],
  given: TelemetryDeps = deps(),
): Promise<ReceivedSpan[]> {
  const view = telemetryView(given)
  for (const stored of events) view?.events([stored])
  await view?.close()
  return out.spans
}

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan =>
  spans.find((span) => span.name === name) ??
  (() => {
    throw new Error(`no span ${name} in ${spans.map((span) => span.name).join(', ')}`)
  })()
const sentOf = (events: readonly StoredEvent[]) =>
  events.flatMap(({ event }) => (event.type === 'message.sent' ? [event] : []))[0] ??
  (() => {
    throw new Error('nothing was sent')
  })()

test('without a collector in the environment there is no view at all', () => {
  for (const env of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: out.url, OTEL_SDK_DISABLED: 'true' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: out.url, OTEL_TRACES_EXPORTER: 'none' },
  ])
    expect(telemetryView({ ...deps(), env })).toBeNull()
})

test('an address that is none is told, and exports nothing', () => {
  expect(telemetryView({ ...deps(), env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'collector' } })).toBeNull()
  expect(warnings.at(-1)).toContain('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is "collector"')
})

describe('a run with a call', () => {
  test('is one tree: the turn, its steps, the call, the turn below it', async () => {
    const events = await recorded()
    const spans = await exported(events)
    const { turn, flow, session } = sentOf(events)
    const usages = events.flatMap(({ event }) =>
      event.type === 'step.ended' && event.usage !== null ? [event.usage] : [],
    )
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceIdOf(flow)]))
    const root = named(spans, 'invoke_agent planner')
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
    const child = named(spans, 'invoke_agent coder')
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
    expect(named(spans, 'execute_tool list')).toMatchObject({
      parentSpanId: root.spanId,
      kind: 1,
      attributes: { 'gen_ai.tool.type': 'function' },
    })
  })

  test('says what failed and why, in few words', async () => {
    const spans = await exported(await recorded())
    expect(named(spans, 'execute_tool read')).toMatchObject({
      status: { code: 2 },
      attributes: { 'error.type': expect.stringMatching(/^[a-z_]+$/) },
    })
    expect(spans.find((span) => span.attributes['tieline.outcome'] === 'refused')).toMatchObject({
      name: 'execute_tool sub_agent',
      status: { code: 2 },
      attributes: { 'error.type': 'self_call' },
    })
  })

  test('has the times of the log', async () => {
    const events = await recorded()
    const spans = await exported(events)
    const child = named(spans, 'invoke_agent coder')
    expect(BigInt(child.endTimeUnixNano) - BigInt(child.startTimeUnixNano)).toBe(1_500_000_000n)
    const ended = events.find(
      ({ event }) => event.type === 'turn.ended' && event.turn === child.attributes['tieline.turn'],
    )
    expect(child.endTimeUnixNano).toBe(`${ended?.at ?? 0}000000`)
    for (const span of spans)
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
  })

  test('goes on in the trace of the request that began it', async () => {
    const events = await recorded(incoming)
    const root = named(await exported(events), 'invoke_agent planner')
    expect(root).toMatchObject({
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      parentSpanId: '00f067aa0ba902b7',
      flags: 0x301,
    })
    expect(named(out.spans, 'invoke_agent coder')).toMatchObject({
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      flags: 0x101,
    })
  })

  test('has the ids that were handed on before its spans were made', async () => {
    const events = await recorded(incoming)
    const view = telemetryView(deps())
    const opened = events.flatMap(({ event }) => (event.type === 'call.opened' ? [event] : []))[0]
    const turn = opened?.turn ?? 'turn_'
    const handed = parseTraceparent(
      traceparentOf({
        turn,
        flow: opened?.flow ?? 'flow_',
        root: sentOf(events).trace,
        key: opened?.key ?? '',
        sampling: view?.sampling ?? null,
      }),
    )
    await view?.close()
    const spans = await exported(events)
    expect(spans.find((span) => span.spanId === handed?.spanId)).toMatchObject({
      name: 'execute_tool sub_agent',
      traceId: handed?.traceId,
    })
    expect(handed?.spanId).toBe(stepSpanId(turn, opened?.key ?? ''))
  })

  test('is the same to the byte when it is exported again', async () => {
    const events = await recorded()
    const first = JSON.stringify(await exported(events))
    out.spans.length = 0
    expect(JSON.stringify(await exported(events))).toBe(first)
  })
})

describe('content', () => {
  test('is not exported', async () => {
    await exported(await recorded())
    expect(JSON.stringify(out.spans)).not.toMatch(/my key|use \[|sk-|"done"|first|second/)
  })

  test('is exported where it was asked for, without secrets', async () => {
    const spans = await exported(
      await recorded(),
      deps({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' }),
    )
    expect(
      JSON.parse(String(named(spans, 'invoke_agent planner').attributes['gen_ai.input.messages'])),
    ).toEqual([{ role: 'user', parts: [{ type: 'text', content: 'my key is [redacted]' }] }])
    expect(
      JSON.parse(String(named(spans, 'invoke_agent planner').attributes['gen_ai.output.messages'])),
    ).toEqual([{ role: 'assistant', parts: [{ type: 'text', content: 'done' }] }])
    expect(named(spans, 'execute_tool sub_agent').attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"task":"use [redacted]","input":null}',
      'gen_ai.tool.call.result': '"done"',
    })
    expect(
      JSON.parse(
        String(
          spans.find((span) => span.attributes['gen_ai.operation.name'] === 'chat')?.attributes[
            'gen_ai.output.messages'
          ],
        ),
      ),
    ).toEqual([{ role: 'assistant', parts: [{ type: 'text', content: 'first' }], finish_reason: 'stop' }])
    expect(named(spans, 'execute_tool list').attributes['gen_ai.tool.call.arguments']).toBe('{"path":"."}')
    expect(JSON.stringify(out.spans)).not.toContain(secret)
  })

  test('is cut', async () => {
    const spans = await exported(
      await recorded(),
      deps({
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
        OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '30',
      }),
    )
    expect(String(named(spans, 'execute_tool list').attributes['gen_ai.tool.call.result']).length).toBe(30)
  })
})

test('a turn that began before is left out, with what it does; its later calls have the trace of their flow', async () => {
  const events = await recorded()
  const after = events.findIndex(({ event }) => event.type === 'step.ended')
  const spans = await exported(events.slice(after))
  expect(spans.map((span) => span.name)).not.toContain('invoke_agent planner')
  expect(named(spans, 'invoke_agent coder').traceId).toBe(traceIdOf(sentOf(events).flow))
})

test('a trace that its beginner does not sample is not exported, nor one that we do not', async () => {
  const events = await recorded(incoming.replace(/01$/, '00'))
  expect(await exported(events)).toEqual([])
  expect(await exported(await recorded(), deps({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }))).toEqual(
    [],
  )
  expect((await exported(events, deps({ OTEL_TRACES_SAMPLER: 'always_on' }))).length).toBeGreaterThan(3)
})

test('the service, its attributes and the path of the endpoint are those of the environment', async () => {
  const events = await recorded()
  await exported(
    events,
    deps({
      OTEL_SERVICE_NAME: 'ours',
      OTEL_RESOURCE_ATTRIBUTES: 'team=a%20b,service.name=other',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=abc%3D1',
    }),
  )
  expect(out.requests[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'content-type': 'application/json', 'x-key': 'abc=1' },
    resource: { 'service.name': 'ours', team: 'a b', 'service.version': '9.9.9' },
  })
  await exported(events, {
    ...deps(),
    env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${out.url}/mine`, OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' },
  })
  expect(out.requests[1]).toMatchObject({
    path: '/mine',
    headers: { 'content-encoding': 'gzip' },
    resource: { 'service.name': 'tieline' },
  })
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
  const base = { session, turn: 'turn_1' } as const
  const spans = await exported(
    [
      {
        seq: 1,
        at,
        event: {
          type: 'message.sent',
          ...base,
          message: 'msg_1',
          flow: 'flow_1',
          from: null,
          senderTurn: null,
          source: 'user',
          applet: null,
          inReplyTo: null,
          text: 'hi',
          tokens: 1,
          deadline: null,
          trace: null,
          grant,
        },
      },
      {
        seq: 2,
        at,
        event: {
          type: 'step.ended',
          ...base,
          kind: 'model',
          name: 'main/gemini-9',
          key: 'a',
          input: null,
          ok: true,
          output: { text: '', toolCalls: [], finish: 'error', error: 'provider_overloaded: try later' },
          usage: { input: 1, output: 0, estimated: true },
          startedAt: at - 5,
        },
      },
      {
        seq: 3,
        at: at + 1,
        event: {
          type: 'turn.ended',
          ...base,
          outcome: 'failed',
          output: '',
          error: 'provider_overloaded: try later',
          tokensUsed: 1,
          tokensBelow: 0,
          iterations: 1,
          toolCalls: [],
          entry: null,
        },
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
  expect(named(spans, 'chat gemini-9').attributes).toMatchObject({
    'gen_ai.provider.name': 'gcp.gemini',
    'gen_ai.request.model': 'gemini-9',
    'gen_ai.response.finish_reasons': ['error'],
    'error.type': 'provider_overloaded',
    'tieline.usage.estimated': true,
  })
  expect(named(spans, 'invoke_agent Ann')).toMatchObject({
    status: { code: 2 },
    attributes: { 'gen_ai.agent.id': 'agent-1', 'error.type': 'provider_overloaded' },
  })
})

test('a model has ended when its first tool began, although both were written later', async () => {
  const [message] = (await recorded()).filter(({ event }) => event.type === 'message.sent')
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
    named(out.spans, 'chat model').endTimeUnixNano,
    named(out.spans, 'execute_tool tool').endTimeUnixNano,
  ]).toEqual([`${at + 400}000000`, `${at + 1000}000000`])
})

test('R11: nothing is kept of what has ended, and of what never ends only so much', async () => {
  const events = await recorded()
  const fold = spanFold({
    sampling: { follow: true, ratio: 1 },
    content: null,
    agent: () => undefined,
    provider: (name) => name,
  })
  fold.spansOf(events)
  expect(fold.open()).toBe(0)
  const { event, at } = events.find((stored) => stored.event.type === 'message.sent') ?? {
    event: sentOf(events),
    at: 0,
  }
  fold.spansOf(
    Array.from({ length: 10_100 }, (_, n): StoredEvent => ({
      seq: n,
      at,
      event: { ...event, turn: `turn_${n}` } as StoredEvent['event'],
    })),
  )
  expect(fold.open()).toBe(10_000)
})

test('events that nobody could expect break nothing', () => {
  const view = telemetryView(deps())
  expect(() => view?.events([{ seq: 1, at: 0, event: null as never }])).not.toThrow()
})
