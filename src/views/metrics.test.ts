import { describe, expect, test } from 'vitest'
import {
  callEnded,
  created,
  ended,
  grantOf,
  opened,
  refused,
  sent,
  started,
  stepped,
} from '../../test/kits/store.ts'
import { world } from '../../test/kits/world.ts'
import type { Event } from '../model/event.ts'
import { systemClock } from '../runtime/kernel/system-clock.ts'
import { metricsView, type MetricsDeps, type MetricsView } from './metrics.ts'

const idle = { running: 0, openCalls: 0, queued: 0, webSockets: 0 }
const view = (more: Partial<MetricsDeps> = {}): MetricsView =>
  metricsView({ clock: systemClock, version: '9.9.9', live: () => idle, ...more })
const feed = (metrics: MetricsView, events: readonly Event[], at = 5000): void =>
  metrics.events(events.map((event, index) => ({ seq: index + 1, at, event })))

/**
 * Reads the text format strictly: every line is a comment or a sample, every sample belongs to a metric that
 * was announced.
 */
function parseSamples(text: string): Map<string, number> {
  const samples = new Map<string, number>()
  const types = new Map<string, string>()
  expect(text.endsWith('\n')).toBe(true)
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line)
    if (comment !== null) {
      if (comment[1] === 'TYPE') {
        expect(types.has(comment[2] ?? '')).toBe(false)
        types.set(comment[2] ?? '', comment[3] ?? '')
      }
      continue
    }
    const sample =
      /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$/.exec(
        line,
      )
    if (sample === null) throw new Error(`not a sample: ${line}`)
    const [, name = '', labels = '', value = ''] = sample
    const family = types.get(name) === undefined ? name.replace(/_(bucket|sum|count)$/, '') : name
    if (!types.has(family) || samples.has(name + labels)) throw new Error(`of no metric, or twice: ${line}`)
    samples.set(name + labels, value === '+Inf' ? Infinity : Number(value))
    expect(Number.isNaN(samples.get(name + labels))).toBe(false)
  }
  return samples
}
const samples = async (metrics: MetricsView): Promise<Map<string, number>> =>
  parseSamples(await metrics.text())

test('turns, calls, tokens, tools and refusals of a real run are counted', async () => {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) => {
          await turn.tool('list', { path: '.' })
          await turn.tool('sub_agent', { agent_name: 'coder', task: 'work' })
          await turn.tool('sub_agent', { agent_name: 'nobody', task: 'work' })
          return 'ok'
        },
      },
      coder: {
        script: async (turn) => {
          await turn.think('hm')
          await w.clock.sleep(1500)
          return 'done'
        },
      },
    },
  })
  const metrics = view()
  await w.run('planner', 'go')
  const { events } = await w.store.read(0, {}, 1000)
  metrics.events(events)
  const usage = events.flatMap(({ event }) =>
    event.type === 'step.ended' && event.usage !== null ? [event.usage] : [],
  )[0]
  const found = await samples(metrics)
  expect(
    Object.fromEntries(
      [
        'tieline_turns_total{agent="planner",outcome="completed"}',
        'tieline_turns_total{agent="coder",outcome="completed"}',
        'tieline_calls_total{agent="coder",tool="sub_agent",outcome="completed"}',
        'tieline_calls_total{agent="unknown",tool="sub_agent",outcome="refused"}',
        'tieline_refusals_total{code="agent_unknown"}',
        'tieline_tool_runs_total{tool="list",ok="true"}',
        'tieline_messages_total{source="user"}',
        'tieline_turn_duration_seconds_bucket{agent="coder",le="1"}',
        'tieline_turn_duration_seconds_bucket{agent="coder",le="2.5"}',
        'tieline_turn_duration_seconds_sum{agent="coder"}',
        'tieline_call_duration_seconds_count{agent="coder"}',
        'tieline_events_total{type="turn.ended"}',
      ].map((name) => [name, found.get(name)]),
    ),
  ).toEqual({
    'tieline_turns_total{agent="planner",outcome="completed"}': 1,
    'tieline_turns_total{agent="coder",outcome="completed"}': 1,
    'tieline_calls_total{agent="coder",tool="sub_agent",outcome="completed"}': 1,
    'tieline_calls_total{agent="unknown",tool="sub_agent",outcome="refused"}': 1,
    'tieline_refusals_total{code="agent_unknown"}': 1,
    'tieline_tool_runs_total{tool="list",ok="true"}': 1,
    'tieline_messages_total{source="user"}': 1,
    'tieline_turn_duration_seconds_bucket{agent="coder",le="1"}': 0,
    'tieline_turn_duration_seconds_bucket{agent="coder",le="2.5"}': 1,
    'tieline_turn_duration_seconds_sum{agent="coder"}': 1.5,
    'tieline_call_duration_seconds_count{agent="coder"}': 1,
    'tieline_events_total{type="turn.ended"}': 2,
  })
  expect(
    found.get(`tieline_tokens_total{agent="coder",kind="input",estimated="${String(usage?.estimated)}"}`),
  ).toBe(usage?.input)
})

describe('what is there now', () => {
  test('is read when the metrics are read', async () => {
    let running = 1
    const metrics = view({
      live: async () => ({ running, openCalls: 2, queued: 3, webSockets: 4 }),
      lag: () => ({ mean: 1, p99: 20, max: 30 }),
    })
    running = 7
    const found = await samples(metrics)
    expect([
      found.get('tieline_running_turns'),
      found.get('tieline_open_calls'),
      found.get('tieline_queued_inputs'),
      found.get('tieline_websocket_clients'),
      found.get('nodejs_eventloop_lag_seconds{stat="p99"}'),
    ]).toEqual([7, 2, 3, 4, 0.02])
    expect(found.get('process_resident_memory_bytes')).toBeGreaterThan(1_000_000)
    expect(found.get('process_cpu_seconds_total')).toBeGreaterThan(0)
    expect(found.get(`tieline_info{version="9.9.9",node="${process.version}"}`)).toBe(1)
  })
})

test('each node of a cluster is there once, whatever else had its name before', async () => {
  const node = (name: string, alive: boolean, running: number) => ({ name, version: '1', alive, running })
  const nodes = [node('a', true, 3), node('b', false, 9), node('b', true, 2), node('b', false, 9)]
  const found = await samples(view({ live: () => ({ ...idle, nodes: [...nodes, node('c', false, 4)] }) }))
  const up = ['a', 'b', 'c'].map((name) => found.get(`tieline_node_up{name="${name}",version="1"}`))
  const running = ['a', 'b', 'c'].map((name) => found.get(`tieline_node_running_turns{name="${name}"}`))
  expect([up, running]).toEqual([
    [1, 1, 0],
    [3, 2, 0],
  ])
  expect((await view().text()).includes('tieline_node')).toBe(false)
})

test('the server reports requests and refusals at the doors', async () => {
  const metrics = view()
  metrics.observeRequest('/api/sessions/:id', 200, 0.004)
  metrics.observeRequest('/api/sessions/:id', 404, 70)
  metrics.refused('not_authenticated')
  const found = await samples(metrics)
  expect([
    found.get('tieline_http_requests_total{route="/api/sessions/:id",status="404"}'),
    found.get('tieline_http_request_duration_seconds_count{route="/api/sessions/:id"}'),
    found.get('tieline_http_request_duration_seconds_bucket{route="/api/sessions/:id",le="0.005"}'),
    found.get('tieline_refusals_total{code="not_authenticated"}'),
  ]).toEqual([1, 2, 1, 1])
})

test('questions, notices and takeovers are counted', async () => {
  const metrics = view()
  const base = { session: 'ses_a', turn: 'turn_a' } as const
  feed(metrics, [
    {
      type: 'question.asked',
      ...base,
      question: 'q1',
      key: 'k',
      agent: 'a',
      tool: 'shell',
      input: null,
      path: [],
      flow: 'flow_1',
      deadline: 1,
    },
    { type: 'question.answered', ...base, question: 'q1', answer: 'deny', by: 'user' },
    { type: 'notice.raised', ...base, about: 'x', text: 'y' },
    { type: 'session.claimed', ...base, node: 'node_1', epoch: 2 },
  ])
  const found = await samples(metrics)
  expect(
    [
      'tieline_questions_total{what="asked"}',
      'tieline_questions_total{what="deny"}',
      'tieline_notices_total',
      'tieline_takeovers_total',
    ].map((name) => found.get(name)),
  ).toEqual([1, 1, 1, 1])
})

test('R11: after two hundred agents every other is "other", and routes likewise', async () => {
  const metrics = view()
  for (let n = 0; n < 300; n += 1) {
    feed(metrics, [
      sent('ses_a', `turn_${n}`, { grant: grantOf(`agent-${n}`) }),
      started('ses_a', `turn_${n}`),
      ended('ses_a', `turn_${n}`),
    ])
    metrics.observeRequest(`/made-up/${n}`, 404, 0)
  }
  const found = await samples(metrics)
  expect(found.get('tieline_turns_total{agent="agent-199",outcome="completed"}')).toBe(1)
  expect(found.get('tieline_turns_total{agent="other",outcome="completed"}')).toBe(100)
  expect(found.get('tieline_http_requests_total{route="other",status="404"}')).toBe(100)
})

test('what began before is counted where it ends, under no name', async () => {
  const metrics = view()
  feed(metrics, [
    created('ses_a'),
    ended('ses_a', 'turn_old'),
    callEnded('ses_a', 'turn_old', 'call_old', 'ses_b', 'timed_out'),
    stepped('ses_a', 'turn_old', { input: 3, output: 4, estimated: true }),
    refused('ses_a', 'turn_old', 'call_x'),
  ])
  const found = await samples(metrics)
  expect([
    found.get('tieline_turns_total{agent="unknown",outcome="completed"}'),
    found.get('tieline_calls_total{agent="unknown",tool="unknown",outcome="timed_out"}'),
    found.get('tieline_tokens_total{agent="unknown",kind="output",estimated="true"}'),
    found.get('tieline_refusals_total{code="self_call"}'),
  ]).toEqual([1, 1, 4, 1])
})

test('a name with quotes, backslashes and line breaks stays one label', async () => {
  const metrics = view()
  const agent = 'a"b\\c\nd'
  feed(metrics, [
    { ...opened({ from: 'ses_a', in: 'turn_a', call: 'call_1', to: 'ses_b' }), grant: grantOf(agent) },
    ended('ses_b', 'turn_1'),
  ])
  expect(
    (await samples(metrics)).get('tieline_turns_total{agent="a\\"b\\\\c\\nd",outcome="completed"}'),
  ).toBe(1)
})
