/** What many runs came to together. */
import { hash } from 'node:crypto'
import type { Verdict } from './play.ts'
import { eventNames, refusalNames, sizeNames, unreachable } from './happenings.ts'
import { count } from './count.ts'

export type SeedResult = {
  seed: number
  failure: string | null
  digest: string
  calls: number
  events: number
  simulatedMs: number
  rerunsMax: number
  outcomes: [string, number][]
  counts: [string, number][]
}

export const makeSeedResult = (seed: number, verdict: Verdict): SeedResult => ({
  seed,
  failure: verdict.failure,
  digest: verdict.digest,
  calls: verdict.calls,
  events: verdict.events,
  simulatedMs: verdict.simulatedMs,
  rerunsMax: verdict.rerunsMax,
  outcomes: [...verdict.outcomes],
  counts: [...verdict.counts],
})

/** Every fault that a plan can hold or a script can play. Over a full run each must have happened. */
export const faultNames = [
  'crash',
  'restart',
  'stop',
  'freeze',
  'thaw',
  'stale.refused',
  'cut.hang',
  'cut.throw',
  'disk.slow',
  'clock.ahead',
  'clock.back',
  'disk.full',
  'disk.kept',
  'disk.lost',
  'disk.torn',
  'commit.failed',
  'commit.unknown',
  'hint.lost',
  'hint.late',
  'hint.doubled',
  'version.upgraded',
  'version.too_early',
  'version.too_old',
  'version.left_behind',
  'driver.slow',
  'driver.hang',
  'driver.deaf',
  'driver.fail',
  'driver.empty',
  'driver.late',
  'driver.twice',
  'driver.twice_refused',
  'driver.lie_high',
  'driver.lie_none',
  'agent.timeout',
  'agent.rejected',
  'agent.not_found',
  'agent.busy',
  'agent.network_delay',
  'ring.refused',
  'cancel.done',
  'cancel.late',
  'keys.rerun',
  'mail.accepted',
  'mail.released',
  'mail.taken',
  'mail.reply',
  'mail.again',
] as const

export type SavedTotals = {
  /** Of seeds that failed. */
  results: SeedResult[]
  digests: [number, string][]
  sums: number[]
  outcomes: [string, number][]
  counts: [string, number][]
}

export class Totals {
  seeds = 0
  calls = 0
  events = 0
  simulatedMs = 0
  rerunsMax = 0
  readonly outcomes = new Map<string, number>()
  readonly counts = new Map<string, number>()
  readonly failures: SeedResult[] = []
  readonly #digests = new Map<number, string>()

  add(result: SeedResult): void {
    this.seeds += 1
    this.calls += result.calls
    this.events += result.events
    this.simulatedMs += result.simulatedMs
    this.rerunsMax = Math.max(this.rerunsMax, result.rerunsMax)
    for (const [name, times] of result.outcomes) count(this.outcomes, name, times)
    for (const [name, times] of result.counts) count(this.counts, name, times)
    this.#digests.set(result.seed, result.digest)
    if (result.failure !== null) this.failures.push(result)
  }

  /** As one value, for a file. */
  save(): SavedTotals {
    return {
      results: this.failures,
      digests: [...this.#digests],
      sums: [this.seeds, this.calls, this.events, this.simulatedMs, this.rerunsMax],
      outcomes: [...this.outcomes],
      counts: [...this.counts],
    }
  }

  /** What others came to. */
  addSaved({ results, digests, sums, outcomes, counts }: SavedTotals): void {
    const [seeds = 0, calls = 0, events = 0, simulatedMs = 0, rerunsMax = 0] = sums
    this.seeds += seeds
    this.calls += calls
    this.events += events
    this.simulatedMs += simulatedMs
    this.rerunsMax = Math.max(this.rerunsMax, rerunsMax)
    for (const [name, times] of outcomes) count(this.outcomes, name, times)
    for (const [name, times] of counts) count(this.counts, name, times)
    for (const [seed, digest] of digests) this.#digests.set(seed, digest)
    this.failures.push(...results)
  }

  /** One hash over the logs of all seeds, in their order. */
  digest(): string {
    const seeds = [...this.#digests.keys()].toSorted((a, b) => a - b)
    const lines = seeds.map((seed) => `${seed} ${this.#digests.get(seed) ?? ''}`)
    return hash('sha256', lines.join('\n')).slice(0, 32)
  }

  missing(): string[] {
    return [
      ...faultNames,
      ...sizeNames,
      ...eventNames.map((name) => `event.${name}`),
      ...refusalNames.map((name) => `refusal.${name}`),
    ].filter((name) => !this.counts.has(name))
  }
}

export function renderSummary(totals: Totals, seconds: number): string[] {
  const listed = (entries: readonly (readonly [string, number])[]): string =>
    entries.map(([name, times]) => `${name} ${times}`).join(', ')
  const refused = [...totals.outcomes].reduce(
    (sum, [name, times]) => sum + (name.startsWith('refused.') ? times : 0),
    0,
  )
  const calls = `${totals.calls + refused} calls (${totals.calls} opened, ${refused} refused)`
  const time = `${(totals.simulatedMs / 3_600_000).toFixed(1)} simulated hours in ${seconds.toFixed(0)} s`
  return [
    `${totals.seeds} seeds, ${calls}, ${totals.events} events, ${time}`,
    `hash      ${totals.digest()}`,
    `outcomes  ${listed([...totals.outcomes].toSorted(([a], [b]) => (a < b ? -1 : 1)))}`,
    `events    ${listed(eventNames.map((name) => [name, totals.counts.get(`event.${name}`) ?? 0]))}`,
    `refusals  ${listed(refusalNames.map((name) => [name, totals.counts.get(`refusal.${name}`) ?? 0]))}`,
    ...Object.entries(unreachable).map(([code, why]) => `left out  ${code}: ${why}`),
    `sizes     ${listed(sizeNames.map((name) => [name, totals.counts.get(name) ?? 0]))}`,
    `faults    ${listed(faultNames.map((name) => [name, totals.counts.get(name) ?? 0]))}`,
    `keys      at most ${totals.rerunsMax} reruns of a transaction`,
  ]
}
