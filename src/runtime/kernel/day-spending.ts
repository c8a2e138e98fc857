/**
 * R7 for a day: what this node knows of the money that was spent today. The log has what was recorded, by every
 * node; what was paid here and is not recorded yet, and what requests under way are estimated to cost, is added.
 * Nothing falls between the two: what is recorded while the log is being read counts twice until the next look.
 */
import { tightest, toDay, type DayBudget } from '../../model/day-budget.ts'
import { toNanoUsd } from '../../model/money.ts'
import type { Runtime } from './runtime.ts'

type Sums = Map<string, number>
/** By directory, in billionths of a dollar. */
export type DaySpending = {
  /** As the log had it when it was last read. */
  logged: ReadonlyMap<string, number>
  /** Recorded by this node since. */
  recorded: Sums
  /** Paid and not yet recorded, and held by requests under way. */
  pending: Sums
  reading: Promise<void>
  /** Whether a budget for a day was seen: without one nobody has to look. */
  isLimited: boolean
}

export const createDaySpending = (): DaySpending => ({
  logged: new Map(),
  recorded: new Map(),
  pending: new Map(),
  reading: Promise.resolve(),
  isLimited: false,
})

type Days = Pick<Runtime, 'store' | 'clock' | 'limits' | 'projects' | 'spending'>

const readMax = (usd: number | undefined): number | null => (usd === undefined ? null : toNanoUsd(usd))

/** A project that has no stricter limit than the server needs none of its own: it spends a part of the server's. */
function listMaxima({ limits, projects, spending }: Days, cwd: string | null) {
  const seen = cwd === null ? undefined : projects?.known(cwd)
  const server = readMax((seen?.ownLimits ?? limits).dayUsdMax)
  const own = seen === undefined || seen.project === null ? null : readMax(seen.limits.dayUsdMax)
  spending.isLimited ||= server !== null || own !== null
  return { server, project: own === null || (server !== null && own >= server) ? null : own }
}

/**
 * One after the other, so that an older answer never replaces a newer one. `cwd` null: not known yet. Null where there
 * is nothing to look for, which is nearly always.
 */
export function lookAtDay(runtime: Days, cwd: string | null): Promise<void> | null {
  listMaxima(runtime, cwd)
  const { spending, store, clock } = runtime
  if (!spending.isLimited) return null
  const look = async (): Promise<void> => {
    const before = spending.recorded
    spending.recorded = new Map()
    try {
      const rows = await store.spentOn(toDay(clock.now()))
      spending.logged = new Map(rows.map(({ cwd, nanoUsd }) => [cwd, nanoUsd]))
    } catch (fault) {
      for (const [cwd, nanoUsd] of before) add(spending.recorded, cwd, nanoUsd)
      throw fault
    }
  }
  return (spending.reading = spending.reading.then(look, look))
}

/** As it was last looked at, with what has happened here since. The one that is used up first. */
export function readDayBudget(runtime: Days, cwd: string): DayBudget | null {
  const maxima = listMaxima(runtime, cwd)
  const budgets: DayBudget[] = []
  if (maxima.server !== null)
    budgets.push({ of: 'server', max: maxima.server, used: sum(runtime, () => true) })
  if (maxima.project !== null) {
    const at = (of: string): string | null => runtime.projects?.known(of).project ?? null
    const here = at(cwd)
    budgets.push({ of: 'project', max: maxima.project, used: sum(runtime, (of) => at(of) === here) })
  }
  return tightest(budgets)
}

function sum({ spending: { logged, recorded, pending } }: Days, counts: (cwd: string) => boolean): number {
  let all = 0
  for (const sums of [logged, recorded, pending])
    for (const [cwd, nanoUsd] of sums) if (counts(cwd)) all += nanoUsd
  return all
}

function add(sums: Sums, cwd: string, nanoUsd: number): void {
  const whole = (sums.get(cwd) ?? 0) + nanoUsd
  if (whole === 0) sums.delete(cwd)
  else sums.set(cwd, whole)
}

/** Of a request under way; the returned function gives it back. */
export function holdOfDay({ spending }: Pick<Days, 'spending'>, cwd: string, nanoUsd: number): () => void {
  add(spending.pending, cwd, nanoUsd)
  let isHeld = true
  return () => {
    if (isHeld) add(spending.pending, cwd, -nanoUsd)
    isHeld = false
  }
}

/** A request has cost this, and it will be recorded. */
export function payOfDay({ spending }: Pick<Days, 'spending'>, cwd: string, nanoUsd: number): void {
  if (nanoUsd > 0) add(spending.pending, cwd, nanoUsd)
}

/** What was paid is in the log now, or only looking tells. */
export function recordedOfDay({ spending }: Pick<Days, 'spending'>, cwd: string, nanoUsd: number): void {
  if (nanoUsd === 0) return
  add(spending.pending, cwd, -nanoUsd)
  add(spending.recorded, cwd, nanoUsd)
}
