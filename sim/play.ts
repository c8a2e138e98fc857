/** Plays one plan to its end and says what became of it. */
import type { Bug } from './bug.ts'
import type { Checker } from './checker.ts'
import { describeFault } from './host.ts'
import { count } from './count.ts'
import type { Plan } from './plan.ts'
import type { Recorder } from './record-works.ts'
import { startAt } from './scheduler.ts'
import { World } from './world.ts'

export type Verdict = {
  failure: string | null
  digest: string
  calls: number
  /** Of the log. */
  events: number
  simulatedMs: number
  outcomes: Map<string, number>
  counts: Map<string, number>
  rerunsMax: number
  trace: Checker['trace']
}

/**
 * By then everything has ended, or will not: a full queue of the longest turns, with their grace, a lease and
 * some sweeps after the last fault.
 */
const calmMsMax = 90_000
const lingerMs = 1200
/** In one of so many runs the store folds the log again, which costs as much as a short run. */
const foldedAgain = 8

export async function play(
  plan: Plan,
  bug: Bug | null = null,
  keepTrace = false,
  recorder: Recorder | null = null,
): Promise<Verdict> {
  const world = new World(plan, bug, recorder)
  const { checker, scheduler } = world
  checker.keepTrace = keepTrace
  const crashed = (error: unknown): void => checker.fail(`fault: nobody caught ${describeFault(error)}`)
  process.on('unhandledRejection', crashed)
  try {
    await world.begin()
    let calmSince = Infinity
    let quietSince = Infinity
    while (checker.failure === null && (await scheduler.step())) {
      checker.tick(world.wellSince)
      calmSince = world.isCalm ? Math.min(calmSince, scheduler.now) : Infinity
      quietSince = world.isCalm && checker.isQuiet ? Math.min(quietSince, scheduler.now) : Infinity
      if (quietSince + lingerMs < scheduler.now || calmSince + calmMsMax < scheduler.now) break
    }
    checker.checkAtRest(plan.seed % foldedAgain === 0)
  } finally {
    process.off('unhandledRejection', crashed)
    recorder?.end(world.store.db)
    await world.close()
  }
  const { ledger } = checker
  for (const [code, name] of agentFaults)
    world.counts.set(name, (world.counts.get(name) ?? 0) + (ledger.outcomes.get(code) ?? 0))
  for (const [name, times] of checker.counts) count(world.counts, name, times)
  return {
    failure: checker.failure,
    digest: checker.digest,
    calls: ledger.calls,
    events: ledger.events,
    simulatedMs: scheduler.now - startAt,
    outcomes: ledger.outcomes,
    counts: world.counts,
    rerunsMax: world.rerunsMax,
    trace: checker.trace,
  }
}

/**
 * The agent faults that show in the log: a call that timed out, one that was rejected, one whose target is
 * not there, one whose target is busy.
 */
const agentFaults = [
  ['timed_out', 'agent.timeout'],
  ['refused.not_allowed', 'agent.rejected'],
  ['refused.agent_unknown', 'agent.not_found'],
  ['refused.queue_full', 'agent.busy'],
  ['refused.call_deadlock', 'ring.refused'],
] as const
