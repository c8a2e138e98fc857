/** What many events add up to: a piece of time, or all of it. Sums of two pieces can be added. */
import type { Outcome } from '../model/event.ts'
import type { Millis } from '../model/id.ts'

export type Amounts = {
  input: number
  output: number
  /** Some of it was counted by us, because the provider gave no numbers. */
  estimated: boolean
}
/**
 * How long something took: the quantiles are the upper bounds of the class they fall into, which is a quarter
 * wide at most; `maxMs` is exact.
 */
export type Latency = {
  count: number
  medianMs: number
  p95Ms: number
  maxMs: number
  sumMs: number
  histogram: { toMs: number; count: number }[]
}
export type AgentSums = {
  name: string
  outcomes: Partial<Record<Outcome, number>>
  tokens: Amounts
  latency: Latency | null
}
export type Sums = {
  requests: number
  turns: number
  calls: number
  refused: number
  tokens: Amounts
  agents: AgentSums[]
  models: ({ name: string } & Amounts)[]
  /** Tokens that calls passed on, against all that their callers' conversations held then. */
  context: { calls: number; passed: number; history: number }
}

type Times = { classes: Map<number, number>; count: number; max: Millis; sum: number }
type OfAgent = { outcomes: Map<Outcome, number>; tokens: Amounts; times: Times }

/** Ten classes for each power of ten, from a millisecond on. */
const classesPerDecade = 10
const classMax = 80
const findClass = (ms: Millis): number =>
  ms <= 1 ? 0 : Math.min(classMax, Math.ceil(Math.log10(ms) * classesPerDecade - 1e-9))
const getBound = (index: number): number => Math.round(10 ** (index / classesPerDecade))

const noTokens = (): Amounts => ({ input: 0, output: 0, estimated: false })

export class RunningSums {
  requests = 0
  turns = 0
  calls = 0
  refused = 0
  readonly context = { calls: 0, passed: 0, history: 0 }
  readonly #agents = new Map<string, OfAgent>()
  readonly #models = new Map<string, Amounts>()
  readonly #tokens = noTokens()

  get tokens(): number {
    return this.#tokens.input + this.#tokens.output
  }

  #agent(name: string): OfAgent {
    const known = this.#agents.get(name) ?? {
      outcomes: new Map(),
      tokens: noTokens(),
      times: { classes: new Map(), count: 0, max: 0, sum: 0 },
    }
    this.#agents.set(name, known)
    return known
  }

  addOutcome(agent: string, outcome: Outcome, count = 1): void {
    const { outcomes } = this.#agent(agent)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count)
  }

  addTime(agent: string, ms: Millis): void {
    const { times } = this.#agent(agent)
    const index = findClass(ms)
    times.classes.set(index, (times.classes.get(index) ?? 0) + 1)
    times.count += 1
    times.sum += ms
    times.max = Math.max(times.max, ms)
  }

  addTokens(agent: string, model: string, usage: Amounts): void {
    const ofModel = this.#models.get(model) ?? noTokens()
    this.#models.set(model, ofModel)
    for (const sum of [this.#tokens, this.#agent(agent).tokens, ofModel]) addTo(sum, usage)
  }

  addContext(passed: number, history: number, calls = 1): void {
    this.context.calls += calls
    this.context.passed += passed
    this.context.history += history
  }

  /** Takes in another piece. */
  add(other: RunningSums): void {
    this.requests += other.requests
    this.turns += other.turns
    this.calls += other.calls
    this.refused += other.refused
    this.addContext(other.context.passed, other.context.history, other.context.calls)
    addTo(this.#tokens, other.#tokens)
    for (const [name, usage] of other.#models) {
      const known = this.#models.get(name) ?? noTokens()
      this.#models.set(name, known)
      addTo(known, usage)
    }
    for (const [name, { outcomes, tokens, times }] of other.#agents) {
      const own = this.#agent(name)
      for (const [outcome, count] of outcomes) this.addOutcome(name, outcome, count)
      addTo(own.tokens, tokens)
      for (const [index, count] of times.classes)
        own.times.classes.set(index, (own.times.classes.get(index) ?? 0) + count)
      own.times.count += times.count
      own.times.sum += times.sum
      own.times.max = Math.max(own.times.max, times.max)
    }
  }

  /** Largest first. */
  read(): Sums {
    const size = ({ input, output }: Amounts): number => input + output
    const { requests, turns, calls, refused } = this
    return {
      requests,
      turns,
      calls,
      refused,
      tokens: { ...this.#tokens },
      context: { ...this.context },
      agents: [...this.#agents]
        .map(([name, { outcomes, tokens, times }]): AgentSums => ({
          name,
          outcomes: Object.fromEntries(outcomes),
          tokens: { ...tokens },
          latency: summarizeLatency(times),
        }))
        .sort((a, b) => size(b.tokens) - size(a.tokens)),
      models: [...this.#models]
        .map(([name, usage]) => ({ name, ...usage }))
        .sort((a, b) => size(b) - size(a)),
    }
  }
}

function addTo(sum: Amounts, { input, output, estimated }: Amounts): void {
  sum.input += input
  sum.output += output
  sum.estimated ||= estimated
}

function summarizeLatency({ classes, count, max, sum }: Times): Latency | null {
  if (count === 0) return null
  const sorted = [...classes].sort(([a], [b]) => a - b)
  const quantile = (part: number): Millis => {
    let below = 0
    for (const [index, here] of sorted)
      if ((below += here) >= Math.ceil(count * part)) return Math.min(getBound(index), max)
    return max
  }
  return {
    count,
    medianMs: quantile(0.5),
    p95Ms: quantile(0.95),
    maxMs: max,
    sumMs: sum,
    histogram: sorted.map(([index, here]) => ({ toMs: getBound(index), count: here })),
  }
}
