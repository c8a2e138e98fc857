/** What the records add up to, from a point in time on. */
import type { Outcome } from '../../../src/model/event.ts'
import type { Ledger, TurnFact } from '../live/ledger.ts'

export type Amounts = { input: number; output: number; estimated: boolean }
export type Latency = { agent: string; count: number; median: number; p95: number; max: number }
export type ContextPoint = { call: string; flow: string | null; passed: number; history: number; agent: string }

export type Numbers = {
  requests: number
  turns: number
  calls: number
  tokens: Amounts
  outcomes: Map<string, Map<Outcome, number>>
  byAgent: Map<string, Amounts>
  byModel: Map<string, Amounts>
  latencies: Latency[]
  context: { points: ContextPoint[]; passed: number; history: number }
  buckets: { from: number; width: number; calls: number; refused: number; tokens: number }[]
}

const bucketsMax = 48

export function countNumbers(ledger: Ledger, from: number, now: number): Numbers {
  const turns = [...ledger.turns.values()].filter((turn) => turn.openedAt >= from)
  const calls = [...ledger.calls.values()].filter((call) => call.openedAt >= from && call.agent !== '')
  const outcomes = new Map<string, Map<Outcome, number>>()
  for (const call of calls) {
    if (call.outcome === null) continue
    const known = outcomes.get(call.agent) ?? new Map<Outcome, number>()
    outcomes.set(call.agent, known.set(call.outcome, (known.get(call.outcome) ?? 0) + 1))
  }
  const begin = Math.min(...turns.map(({ openedAt }) => openedAt), now)
  return {
    requests: [...ledger.flows.values()].filter((flow) => flow.openedAt >= from).length, turns: turns.length, calls: calls.length, outcomes, ...usageOf(ledger, turns), latencies: latenciesOf(calls.flatMap(({ agent, openedAt, endedAt, outcome }) => (endedAt === null || outcome === 'refused' ? [] : [{ agent, ms: endedAt - openedAt }]))),
    context: contextOf(ledger, calls), buckets: bucketsOf(turns, calls, Math.max(from, begin), now),
  }
}

function usageOf(ledger: Ledger, turns: readonly TurnFact[]): Pick<Numbers, 'tokens' | 'byAgent' | 'byModel'> {
  const tokens: Amounts = { input: 0, output: 0, estimated: false }
  const byAgent = new Map<string, Amounts>()
  const byModel = new Map<string, Amounts>()
  const add = (map: Map<string, Amounts>, name: string, usage: Amounts): void => {
    const known = map.get(name) ?? { input: 0, output: 0, estimated: false }
    map.set(name, { input: known.input + usage.input, output: known.output + usage.output, estimated: known.estimated || usage.estimated })
  }
  for (const turn of turns) {
    for (const [model, usage] of turn.usage) {
      Object.assign(tokens, { input: tokens.input + usage.input, output: tokens.output + usage.output, estimated: tokens.estimated || usage.estimated })
      add(byAgent, turn.agent === '' ? (ledger.sessions.get(turn.session)?.agent ?? '') : turn.agent, usage)
      add(byModel, model, usage)
    }
  }
  return { tokens, byAgent: largestFirst(byAgent), byModel: largestFirst(byModel) }
}

const largestFirst = (map: Map<string, Amounts>): Map<string, Amounts> => new Map([...map].sort(([, a], [, b]) => b.input + b.output - a.input - a.output))

function latenciesOf(times: readonly { agent: string; ms: number }[]): Latency[] {
  const byAgent = new Map<string, number[]>()
  for (const { agent, ms } of times) byAgent.set(agent, [...(byAgent.get(agent) ?? []), ms])
  return [...byAgent].map(([agent, list]) => {
    const sorted = list.toSorted((a, b) => a - b)
    return { agent, count: sorted.length, median: quantile(sorted, 0.5), p95: quantile(sorted, 0.95), max: sorted.at(-1) ?? 0 }
  }).sort((a, b) => b.p95 - a.p95)
}

const quantile = (sorted: readonly number[], part: number): number => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? 0

/** What a call passed on, against all that its caller's conversation held at that time. */
function contextOf(ledger: Ledger, calls: readonly { id: string; flow: string | null; agent: string; callerSession: string; openedAt: number; contextTokens: number | null }[]): Numbers['context'] {
  const grown = new Map<string, { at: number; tokens: number }[]>()
  for (const turn of ledger.turns.values()) if (turn.entryTokens > 0 && turn.endedAt !== null) grown.set(turn.session, [...(grown.get(turn.session) ?? []), { at: turn.endedAt, tokens: turn.entryTokens }])
  const points = calls.flatMap(({ id, flow, agent, callerSession, openedAt, contextTokens }): ContextPoint[] => {
    if (contextTokens === null) return []
    const history = (grown.get(callerSession) ?? []).reduce((sum, { at, tokens }) => (at <= openedAt ? sum + tokens : sum), 0)
    return [{ call: id, flow, agent, passed: contextTokens, history }]
  })
  return { points, passed: points.reduce((sum, point) => sum + point.passed, 0), history: points.reduce((sum, point) => sum + point.history, 0) }
}

function bucketsOf(turns: readonly TurnFact[], calls: readonly { openedAt: number; outcome: Outcome | null }[], from: number, now: number): Numbers['buckets'] {
  const width = Math.max(1000, Math.ceil((now - from) / bucketsMax / 1000) * 1000)
  const buckets = Array.from({ length: Math.max(1, Math.ceil((now - from) / width)) }, (_, index) => ({ from: from + index * width, width, calls: 0, refused: 0, tokens: 0 }))
  const at = (time: number) => buckets[Math.min(buckets.length - 1, Math.max(0, Math.floor((time - from) / width)))]
  for (const { openedAt, outcome } of calls) {
    const bucket = at(openedAt)
    if (bucket !== undefined) bucket[outcome === 'refused' ? 'refused' : 'calls'] += 1
  }
  for (const turn of turns) {
    const bucket = at(turn.openedAt)
    if (bucket !== undefined) for (const { input, output } of turn.usage.values()) bucket.tokens += input + output
  }
  return buckets
}
