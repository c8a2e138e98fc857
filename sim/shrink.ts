/**
 * Cuts a failing plan down to what it needs to fail: delta debugging over roots, faults and acts.
 */
import type { Bug } from './bug.ts'
import type { Plan } from './plan.ts'
import { play } from './play.ts'

/** The law and the wording without ids and numbers: a smaller plan must fail for the same reason. */
export const normalizeReason = (failure: string): string =>
  failure
    .split('\n')[0]
    ?.replaceAll(/\b[a-z]+_[\w-]+/g, '#')
    .replaceAll(/\d+/g, 'N') ?? ''

export async function shrink(
  plan: Plan,
  failure: string,
  bug: Bug | null,
  playsMax = 400,
): Promise<{ plan: Plan; plays: number }> {
  const reason = normalizeReason(failure)
  let plays = 0
  const fails = async (candidate: Plan): Promise<boolean> => {
    if (plays >= playsMax) return false
    plays += 1
    const verdict = await play(candidate, bug)
    return verdict.failure !== null && normalizeReason(verdict.failure) === reason
  }
  let best = plan
  for (let smaller = true; smaller;) {
    smaller = false
    for (const candidates of [
      without('faults'),
      without('roots'),
      without('mail'),
      without('desk'),
      emptierScripts,
      plainer,
    ]) {
      const found = await firstThatFails(best, candidates, fails)
      if (found === null) continue
      best = found
      smaller = true
    }
  }
  return { plan: best, plays }
}

/** Takes each cut that still fails, in halves first and then one by one. */
async function firstThatFails(
  plan: Plan,
  candidates: (plan: Plan) => Iterable<Plan>,
  fails: (plan: Plan) => Promise<boolean>,
): Promise<Plan | null> {
  let best: Plan | null = null
  for (let again = true; again;) {
    again = false
    for (const candidate of candidates(best ?? plan)) {
      if (!(await fails(candidate))) continue
      best = candidate
      again = true
      break
    }
  }
  return best
}

function without(field: 'faults' | 'roots' | 'mail' | 'desk'): (plan: Plan) => Iterable<Plan> {
  return function* cut(plan) {
    const list: readonly unknown[] = plan[field]
    for (let size = Math.ceil(list.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = 0; from < list.length; from += size)
        yield { ...plan, [field]: list.toSpliced(from, size) }
    }
  }
}

function* emptierScripts(plan: Plan): Iterable<Plan> {
  for (const [index, script] of plan.scripts.entries()) {
    const put = (changed: typeof script): Plan => ({ ...plan, scripts: plan.scripts.with(index, changed) })
    if (script.acts.length > 1) yield put({ ...script, acts: [] })
    for (const [at, act] of script.acts.entries()) {
      yield put({ ...script, acts: script.acts.toSpliced(at, 1) })
      if (act.do === 'call' && act.calls.length > 1)
        for (const [call] of act.calls.entries())
          yield put({
            ...script,
            acts: script.acts.with(at, { ...act, calls: act.calls.toSpliced(call, 1) }),
          })
    }
    if (script.end !== 'answer') yield put({ ...script, end: 'answer' })
  }
}

function* plainer(plan: Plan): Iterable<Plan> {
  if (plan.nodes > 1) yield { ...plan, nodes: plan.nodes - 1 }
  if (plan.latencyMs > 0) yield { ...plan, latencyMs: 0 }
  if (Object.keys(plan.limits).length > 0) yield { ...plan, limits: {} }
  for (const [index, root] of plan.roots.entries()) {
    const { cancelAfterMs, cancelNode: _, ...kept } = root
    if (cancelAfterMs !== undefined) yield { ...plan, roots: plan.roots.with(index, kept) }
    const { timeoutMs, ...free } = root
    if (timeoutMs !== undefined) yield { ...plan, roots: plan.roots.with(index, free) }
  }
}
