/** Numbers for Prometheus, counted from the events of the log. They begin at zero with the process. */
import { toUsd } from '../model/money.ts'
import type { Event, EventOf, EventType, OpeningMessage, StoredEvent } from '../model/event.ts'
import { toTurnId, type CallId, type Millis, type TurnId } from '../model/id.ts'
import { opensTurn } from '../model/opening.ts'
import type { RefusalCode } from '../model/refusal.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { boundedMap } from './bounded-map.ts'
import { boundedNames, counter, renderGauge, histogram } from './prometheus-text.ts'

export type Live = {
  /** Turns that run now. */
  running: number
  /** Calls whose caller waits. */
  openCalls: number
  /** Inputs that wait for their session. */
  queued: number
  webSockets: number
  /** Whether anything can be recorded. */
  storeOk?: boolean
  /** Of a cluster: null where the server has the log to itself, or cannot ask. */
  nodes?: readonly LiveNode[] | null
}
export type LiveNode = { name: string; version: string; alive: boolean; running: number }

export type MetricsDeps = {
  clock: Clock
  version: string
  /** Called when the metrics are read. */
  live: () => Live | Promise<Live>
  /** How late the event loop was lately, in milliseconds; null where it is not measured. */
  lag?: () => Lag | null
}
type Lag = { mean: number; p99: number; max: number }

export type MetricsView = {
  events(events: readonly StoredEvent[]): void
  /** `route` is the pattern, never the path. */
  observeRequest(route: string, status: number, seconds: number): void
  /** A refusal at a door, before anything was recorded. */
  refused(code: RefusalCode): void
  text(): Promise<string>
}

/** R11 */
const namesMax = 200
const openMax = 10_000
const unknown = 'unknown'
/** For these the name is text that a model made up. */
export const namelessCodes: ReadonlySet<RefusalCode> = new Set([
  'agent_unknown',
  'session_unknown',
  'session_ambiguous',
  'bad_input',
])

/** From a script's instant answer to the longest turn. */
const turnSeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600]
const toolSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300]
const httpSeconds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300]

const createMeters = () => ({
  events: counter('tieline_events_total', 'Events of the log, by type.'),
  turns: counter('tieline_turns_total', 'Turns that have ended, by agent and outcome.'),
  turnSeconds: histogram('tieline_turn_duration_seconds', 'How long turns ran, by agent.', turnSeconds),
  calls: counter(
    'tieline_calls_total',
    'Calls that have ended or were refused, by the agent called, tool and outcome.',
  ),
  callSeconds: histogram(
    'tieline_call_duration_seconds',
    'How long callers waited, by the agent called.',
    turnSeconds,
  ),
  refusals: counter('tieline_refusals_total', 'What was refused, by code.'),
  tools: counter('tieline_tool_runs_total', 'Tools that have run, by name and whether they worked.'),
  toolSeconds: histogram('tieline_tool_duration_seconds', 'How long tools ran, by name.', toolSeconds),
  modelSeconds: histogram(
    'tieline_model_duration_seconds',
    'How long models took to answer, by agent.',
    turnSeconds,
  ),
  tokens: counter(
    'tieline_tokens_total',
    'Tokens, by agent and kind; estimated where the provider gave no numbers.',
  ),
  cost: counter(
    'tieline_cost_usd_total',
    'Dollars, by agent, by where the price comes from, and whether a plan covers it.',
  ),
  messages: counter('tieline_messages_total', 'Messages that were sent, by source.'),
  questions: counter('tieline_questions_total', 'Permission questions: asked, allow, deny.'),
  notices: counter('tieline_notices_total', 'Notices that were raised.'),
  takeovers: counter(
    'tieline_takeovers_total',
    'Turns that were taken up again after their runner was gone.',
  ),
  requests: counter('tieline_http_requests_total', 'HTTP requests, by route and status.'),
  requestSeconds: histogram(
    'tieline_http_request_duration_seconds',
    'How long HTTP requests took, by route.',
    httpSeconds,
  ),
})
type Meters = ReturnType<typeof createMeters>

export function metricsView({ clock, version, live, lag = () => null }: MetricsDeps): MetricsView {
  const meters = createMeters()
  const startedAt = clock.now()
  const routes = boundedNames(namesMax)
  const handlers = createHandlers(meters)
  return {
    events(events) {
      for (const { event, at } of events) {
        meters.events.add({ type: event.type })
        const handle = handlers[event.type] as ((event: Event, at: Millis) => void) | undefined
        handle?.(event, at)
      }
    },
    observeRequest(route, status, seconds) {
      const name = routes(route)
      meters.requests.add({ route: name, status: String(status) })
      meters.requestSeconds.observe({ route: name }, seconds)
    },
    refused: (code) => meters.refusals.add({ code }),
    text: async () =>
      [
        ...Object.values(meters).map((meter) => meter.text()),
        renderLive(await live()),
        renderProcess(version, startedAt, lag()),
      ].join(''),
  }
}

type OpenTurn = { agent: string; startedAt: Millis | null }
type OpenCall = { agent: string; tool: string }
type Handlers = { [T in EventType]?: (event: EventOf<T>, at: Millis) => void }

function createHandlers(meters: Meters): Handlers {
  const agents = boundedNames(namesMax)
  const tools = boundedNames(namesMax)
  const turns = boundedMap<TurnId, OpenTurn>(openMax)
  const calls = boundedMap<CallId, OpenCall>(openMax)
  const findAgent = (turn: TurnId | null): string => turns.get(turn ?? 'turn_')?.agent ?? unknown
  const openTurn = (event: OpeningMessage): void => {
    if (opensTurn(event)) turns.set(event.turn, { agent: agents(event.grant.agent), startedAt: null })
  }
  return {
    'message.sent': (event) => {
      meters.messages.add({ source: event.source })
      openTurn(event)
    },
    'message.delivered': openTurn,
    'call.opened': (event) => {
      const agent = agents(event.grant.agent)
      turns.set(toTurnId(event.call), { agent, startedAt: null })
      calls.set(event.call, { agent, tool: tools(event.tool) })
    },
    'call.refused': (event) => {
      meters.refusals.add({ code: event.refusal.code })
      const named = event.agent !== '' && !namelessCodes.has(event.refusal.code)
      meters.calls.add({
        agent: named ? agents(event.agent) : unknown,
        tool: tools(event.tool),
        outcome: 'refused',
      })
    },
    'call.ended': (event) => {
      const { agent, tool } = calls.take(event.call) ?? { agent: unknown, tool: unknown }
      meters.calls.add({ agent, tool, outcome: event.outcome })
      meters.callSeconds.observe({ agent }, secondsBetween(event.openedAt, event.endedAt))
    },
    'turn.started': (event, at) => {
      const turn = turns.get(event.turn ?? 'turn_')
      if (turn !== undefined) turn.startedAt = at
    },
    'turn.ended': (event, at) => {
      const { agent, startedAt } = turns.take(event.turn ?? 'turn_') ?? { agent: unknown, startedAt: null }
      meters.turns.add({ agent, outcome: event.outcome })
      if (startedAt !== null) meters.turnSeconds.observe({ agent }, secondsBetween(startedAt, at))
    },
    'step.ended': (event, at) => {
      const agent = findAgent(event.turn)
      if (event.kind === 'tool') {
        meters.tools.add({ tool: tools(event.name), ok: String(event.ok) })
        meters.toolSeconds.observe({ tool: tools(event.name) }, secondsBetween(event.startedAt, at))
      } else if (event.kind === 'model')
        meters.modelSeconds.observe({ agent }, secondsBetween(event.startedAt, at))
      if (event.usage === null) return
      for (const kind of ['input', 'output'] as const)
        meters.tokens.add({ agent, kind, estimated: String(event.usage.estimated) }, event.usage[kind])
      const { cost } = event.usage
      if (cost !== undefined)
        meters.cost.add({ agent, by: cost.by, plan: String(cost.plan === true) }, toUsd(cost.nanoUsd))
    },
    'question.asked': () => meters.questions.add({ what: 'asked' }),
    'question.answered': (event) => meters.questions.add({ what: event.answer }),
    'notice.raised': () => meters.notices.add({}),
    'session.claimed': () => meters.takeovers.add({}),
  }
}

const secondsBetween = (from: Millis, to: Millis): number => Math.max(0, to - from) / 1000

const renderLive = ({ running, openCalls, queued, webSockets, storeOk = true, nodes = null }: Live): string =>
  [
    renderGauge('tieline_running_turns', 'Turns that run now.', running),
    renderGauge('tieline_open_calls', 'Calls that somebody waits for now.', openCalls),
    renderGauge('tieline_queued_inputs', 'Inputs that wait for their session now.', queued),
    renderGauge('tieline_websocket_clients', 'WebSocket clients that are connected now.', webSockets),
    renderGauge('tieline_store_available', 'Whether the log can be written to: 1 or 0.', Number(storeOk)),
    nodes === null || nodes.length === 0 ? '' : renderNodes(nodes),
  ].join('')

/** A node that was started again has the same name: what lives counts. */
function renderNodes(nodes: readonly LiveNode[]): string {
  const names = new Map<string, LiveNode>()
  for (const node of nodes.toSorted((a, b) => Number(a.alive) - Number(b.alive)).slice(-namesMax)) {
    const other = names.get(node.name)
    const beside = other?.alive === true ? other.running : 0
    names.set(node.name, { ...node, running: beside + (node.alive ? node.running : 0) })
  }
  const known = [...names.values()]
  return [
    renderGauge(
      'tieline_node_up',
      'The nodes of the cluster in the last hour, and whether they live: 1 or 0.',
      known.map(({ name, version, alive }) => [{ name, version }, Number(alive)]),
    ),
    renderGauge(
      'tieline_node_running_turns',
      'Turns that run on each node.',
      known.map(({ name, running }) => [{ name }, running]),
    ),
  ].join('')
}

/** The usual names of Node processes, so that existing dashboards work. */
function renderProcess(version: string, startedAt: Millis, lag: Lag | null): string {
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  const cpu = process.cpuUsage()
  const start = 'When the process started counting, in seconds since 1970.'
  const system = 'Processor time of the kernel for the process.'
  const lags = (['mean', 'p99', 'max'] as const).map((stat) => [{ stat }, (lag?.[stat] ?? 0) / 1000] as const)
  return [
    renderGauge('tieline_info', 'The version that runs.', [[{ version, node: process.version }, 1]]),
    renderGauge('process_start_time_seconds', start, startedAt / 1000),
    renderGauge('process_resident_memory_bytes', 'Resident memory.', rss),
    renderGauge('nodejs_heap_size_used_bytes', 'Heap that is in use.', heapUsed),
    renderGauge('nodejs_heap_size_total_bytes', 'Heap that is taken.', heapTotal),
    renderGauge('nodejs_external_memory_bytes', 'Memory outside of the heap.', external),
    renderGauge('process_cpu_user_seconds_total', 'Processor time of the process.', cpu.user / 1e6),
    renderGauge('process_cpu_system_seconds_total', system, cpu.system / 1e6),
    renderGauge('process_cpu_seconds_total', 'Processor time of both.', (cpu.user + cpu.system) / 1e6),
    lag === null
      ? ''
      : renderGauge('nodejs_eventloop_lag_seconds', 'How late the event loop was since the last look.', lags),
  ].join('')
}
