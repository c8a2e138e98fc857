/**
 * Whether a turn that its process took with it is run once more. R11: an input that ends the process must not
 * end every process after it.
 *
 * A run begins when a node starts the turn or takes it over, and ends with its process if neither of the runs
 * after it is on the same node: a node that only lost its database for a while takes turns again. It counts
 * against the turn if it recorded nothing, unless it only waited for a call or a person, or its node was
 * stopped in good order.
 */
import type { Event, EventType } from './event.ts'
import type { NodeId } from './id.ts'

/** What `diedTwice` has to be shown of a turn, in the order of the log. */
export const runTypes = [
  'turn.started',
  'session.claimed',
  'turn.suspended',
  'step.started',
  'step.ended',
  'call.opened',
  'call.refused',
  'call.ended',
  'wait.started',
  'question.asked',
  'question.answered',
] as const satisfies readonly EventType[]

type Run = { node: NodeId; counts: boolean }

export const diedTwiceError =
  'crashed_twice: the last two times that this turn ran, the process of the server ended before the turn ' +
  'had recorded a step. It is not started a third time, because it may be what ends the process. ' +
  'If something else did, send the request again.'

/** `events` are those of one turn, up to the moment at which `heir` takes it. */
export function diedTwice(events: readonly Event[], heir: NodeId): boolean {
  const runs = readRuns(events)
  const last = runs.at(-1)
  const before = runs.at(-2)
  if (last === undefined || before === undefined) return false
  const bothEnded = last.node !== heir && before.node !== last.node && before.node !== heir
  return bothEnded && last.counts && before.counts
}

function readRuns(events: readonly Event[]): Run[] {
  const runs: Run[] = []
  const awaited = new Set<string>()
  for (const event of events) {
    const run = runs.at(-1)
    if (event.type === 'turn.started' || event.type === 'session.claimed') {
      runs.push({ node: event.node, counts: true })
      continue
    }
    if (event.type === 'call.opened') awaited.add(event.call)
    if (event.type === 'call.ended') awaited.delete(event.call)
    if (event.type === 'question.asked') awaited.add(event.question)
    if (event.type === 'question.answered') awaited.delete(event.question)
    if (run !== undefined) run.counts = false
  }
  const last = runs.at(-1)
  if (last !== undefined && awaited.size > 0) last.counts = false
  return runs
}
