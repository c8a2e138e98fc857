/** Signs of life for a client that waits: without them some give a call up after a minute. */
import type { Desk } from '../../runtime/desk/desk.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import type { SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { isRefusal } from '../../model/refusal.ts'

export const progressMsDefault = 5000
/** No path is longer than the depth that any server allows. */
const hopsMax = 16

export type Progress = { progress: number; message: string }

export type ProgressDeps = {
  clock: Clock
  everyMs: number
  describe: () => Promise<string>
  /** May fail when the client has gone: then there is nobody to tell. */
  tell: (progress: Progress) => Promise<void>
}

/**
 * Runs the work and tells how long it has been running. Telling never delays the answer, and stops with it.
 */
export async function withProgress<T>(
  work: Promise<T>,
  { clock, everyMs, describe, tell }: ProgressDeps,
): Promise<T> {
  const over = new AbortController()
  const startedAt = clock.elapsed()
  async function tick(last: number): Promise<void> {
    await clock.sleep(everyMs, over.signal)
    const what = await describe()
    if (over.signal.aborted) return
    // It must grow, also when the machine's clock is set back.
    const progress = Math.max(last + 0.001, (clock.elapsed() - startedAt) / 1000)
    await tell({ progress, message: `${Math.round(progress)} s: ${what}` })
    return tick(progress)
  }
  // A sleep that was ended, or a client that has gone: nothing more to tell.
  tick(0).catch(() => undefined)
  try {
    return await work
  } finally {
    over.abort()
  }
}

/** Who works while this caller waits: the agents from its callee down. */
export async function whoWorks(
  desk: Desk,
  session: SessionId | null,
  name: string,
  input: Readonly<Record<string, Json>>,
): Promise<string> {
  const wanted = wantedIn(input)
  const found = typeof input['call_id'] === 'string' ? await desk.calls.get(input['call_id']) : null
  const call = found === null || isRefusal(found) ? null : found
  const waiting = await desk.log.waits()
  const edges = isRefusal(waiting) ? [] : waiting.waits
  const own = edges.filter((edge) => (call === null ? edge.waiter === session : edge.call === call.call))
  const first = own.findLast((edge) => edge.targetAgent === wanted || edge.target === wanted) ?? own.at(-1)
  const target = first?.target ?? call?.targetSession ?? null
  const agents = [first?.targetAgent ?? call?.target ?? wanted ?? name]
  for (let at = target; at !== null && agents.length < hopsMax;) {
    const next = edges.find((edge) => edge.waiter === at)
    if (next === undefined) break
    agents.push(next.targetAgent)
    at = next.target
  }
  return `${agents.join(' -> ')} ${agents.length === 1 ? 'is at work' : 'are at work'}`
}

function wantedIn(input: Readonly<Record<string, Json>>): string | null {
  const given = input['agent_name'] ?? input['agent_id'] ?? input['sessionId']
  return typeof given === 'string' ? given : null
}
