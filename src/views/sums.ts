/** What many events add up to: a piece of time, or all of it. Sums of two pieces can be added. */
import type { Outcome, Usage } from '../model/event.ts'
import type { Millis } from '../model/id.ts'
import { addSpent, nothingSpent, readSpent, renderCost, type Spent } from '../model/money.ts'
import type { Latency, Numbers, TokenAmounts } from '../wire/server.ts'

type Amounts = Omit<TokenAmounts, 'cost'> & { spent: Spent }
type AgentSums = Numbers['agents'][number]
export type Sums = Omit<Numbers, 'complete' | 'upTo' | 'end' | 'from' | 'columns' | 'prices'>

type Times = { classes: Map<number, number>; count: number; max: Millis; sum: number }
type OfAgent = { outcomes: Map<Outcome, number>; tokens: Amounts; times: Times }

/** Ten classes for each power of ten, from a millisecond on. */
const classesPerDecade = 10
const classMax = 80
const findClass = (ms: Millis): number =>
  ms <= 1 ? 0 : Math.min(classMax, Math.ceil(Math.log10(ms) * classesPerDecade - 1e-9))
const getBound = (index: number): number => Math.round(10 ** (index / classesPerDecade))

const noTokens = (): Amounts => ({ input: 0, output: 0, estimated: false, spent: nothingSpent })
const render = ({ spent, ...tokens }: Amounts): TokenAmounts => ({ ...tokens, cost: renderCost(spent) })

/** Where tokens were used. */
export type Place = { agent: string; model: string; project: string; day: string }

/** As it is kept over restarts. */
export type SavedSums = Pick<RunningSums, 'requests' | 'turns' | 'calls' | 'refused' | 'context'> & {
  agents: Map<string, OfAgent>
  models: Map<string, Amounts>
  projects: Map<string, Amounts>
  days: Map<string, Amounts>
  tokens: Amounts
}

export class RunningSums {
  static load({ requests, turns, calls, refused, ...saved }: SavedSums): RunningSums {
    const sums = new RunningSums(saved)
    return Object.assign(sums, { requests, turns, calls, refused })
  }

  requests = 0
  turns = 0
  calls = 0
  refused = 0
  readonly context: { calls: number; passed: number; history: number }
  readonly #agents: Map<string, OfAgent>
  readonly #models: Map<string, Amounts>
  readonly #projects: Map<string, Amounts>
  readonly #days: Map<string, Amounts>
  readonly #tokens: Amounts

  constructor(saved: Partial<SavedSums> = {}) {
    this.context = saved.context ?? { calls: 0, passed: 0, history: 0 }
    this.#agents = saved.agents ?? new Map()
    this.#models = saved.models ?? new Map()
    this.#projects = saved.projects ?? new Map()
    this.#days = saved.days ?? new Map()
    this.#tokens = saved.tokens ?? noTokens()
  }

  /** Shares everything with the sums: whoever keeps it writes it down at once. */
  save(): SavedSums {
    const { requests, turns, calls, refused, context } = this
    const [agents, models, projects] = [this.#agents, this.#models, this.#projects]
    const [days, tokens] = [this.#days, this.#tokens]
    return { requests, turns, calls, refused, context, agents, models, projects, days, tokens }
  }

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
    addTimes(this.#agent(agent).times, { classes: [[findClass(ms), 1]], count: 1, sum: ms, max: ms })
  }

  addTokens({ agent, model, project, day }: Place, usage: Usage): void {
    const amounts = { ...usage, spent: readSpent(usage) }
    const sums = [
      this.#tokens,
      this.#agent(agent).tokens,
      getSum(this.#models, model),
      getSum(this.#projects, project),
      getSum(this.#days, day),
    ]
    for (const sum of sums) addTo(sum, amounts)
  }

  addCall(passed: number, history: number): void {
    this.calls += 1
    this.turns += 1
    this.addContext(passed, history)
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
    for (const [own, others] of [
      [this.#models, other.#models],
      [this.#projects, other.#projects],
      [this.#days, other.#days],
    ] as const)
      for (const [name, usage] of others) addTo(getSum(own, name), usage)
    for (const [name, { outcomes, tokens, times }] of other.#agents) {
      const own = this.#agent(name)
      for (const [outcome, count] of outcomes) this.addOutcome(name, outcome, count)
      addTo(own.tokens, tokens)
      addTimes(own.times, times)
    }
  }

  /** Largest first. */
  read(): Sums {
    const size = ({ input, output }: TokenAmounts): number => input + output
    const { requests, turns, calls, refused } = this
    return {
      requests,
      turns,
      calls,
      refused,
      tokens: render(this.#tokens),
      context: { ...this.context },
      agents: [...this.#agents]
        .map(([name, { outcomes, tokens, times }]): AgentSums => ({
          name,
          outcomes: Object.fromEntries(outcomes),
          tokens: render(tokens),
          latency: summarizeLatency(times),
        }))
        .sort((a, b) => size(b.tokens) - size(a.tokens)),
      models: listSums(this.#models).sort((a, b) => size(b) - size(a)),
      projects: listSums(this.#projects).sort((a, b) => size(b) - size(a)),
      days: listSums(this.#days).sort((a, b) => (a.name < b.name ? 1 : -1)),
    }
  }
}

function getSum(sums: Map<string, Amounts>, name: string): Amounts {
  const known = sums.get(name) ?? noTokens()
  sums.set(name, known)
  return known
}

const listSums = (sums: ReadonlyMap<string, Amounts>) =>
  [...sums].map(([name, usage]) => ({ name, ...render(usage) }))

function addTo(sum: Amounts, { input, output, estimated, spent }: Amounts): void {
  sum.input += input
  sum.output += output
  sum.estimated ||= estimated
  sum.spent = addSpent(sum.spent, spent)
}

function addTimes(sum: Times, more: Omit<Times, 'classes'> & { classes: Iterable<[number, number]> }): void {
  for (const [index, count] of more.classes) sum.classes.set(index, (sum.classes.get(index) ?? 0) + count)
  sum.count += more.count
  sum.sum += more.sum
  sum.max = Math.max(sum.max, more.max)
}

/** Quantiles are the upper bounds of the class they fall into, a quarter wide at most; `maxMs` is exact. */
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
