/**
 * Time limits that this process keeps. A deadline in the log is a moment of the wall clock, because other
 * nodes and a restart must be able to read it; the wall clock may be set back or forward.
 * So a limit is taken over once, when what it limits begins here, and from then on only elapsed time counts.
 * What nobody here keeps is judged by the wall clock.
 */
import type { CallId, Millis, TurnId } from '../../model/id.ts'
import type { Clock } from './ports.ts'

/**
 * `until` on the clock that only passes; `deadline` as it stands in the log; `aheadMs` is how far the wall
 * clock was ahead of elapsed time then.
 */
export type Kept = { until: Millis; deadline: Millis; aheadMs: Millis }

export type KeptTime = Map<CallId | TurnId, Kept>

type Keeper = { clock: Clock; kept: KeptTime }

/** Takes a limit over. One that is kept already stays: the wall clock may have been set meanwhile. */
export function keepTime(keeper: Keeper, id: CallId | TurnId, deadline: Millis): void {
  if (!keeper.kept.has(id)) renewTime(keeper, id, deadline)
}

/** For a deadline that was just made from elapsed time. */
export function renewTime({ clock, kept }: Keeper, id: CallId | TurnId, deadline: Millis): void {
  const [now, elapsed] = [clock.now(), clock.elapsed()]
  kept.set(id, { until: elapsed + (deadline - now), deadline, aheadMs: now - elapsed })
}

export const forgetTime = ({ kept }: Keeper, id: CallId | TurnId): boolean => kept.delete(id)

/** How long until `deadline`. */
export function msLeft({ clock, kept }: Keeper, id: CallId | TurnId, deadline: Millis): Millis {
  const known = kept.get(id)
  return known === undefined ? deadline - clock.now() : known.until - clock.elapsed()
}

/** Both readings are whole milliseconds, and are not taken at the same moment. */
const unsetMs = 20

/** A deadline as it stands on the wall clock of this moment, for rules, which know no other. */
export function deadlineNow({ clock, kept }: Keeper, id: CallId | TurnId, deadline: Millis): Millis {
  const known = kept.get(id)
  const setByMs = known === undefined ? 0 : clock.now() - clock.elapsed() - known.aheadMs
  return Math.abs(setByMs) < unsetMs ? deadline : deadline + setByMs
}

/** Whether a limit that the wall clock says is over still runs here. */
export function stillRuns({ clock, kept }: Keeper, id: CallId | TurnId): boolean {
  const known = kept.get(id)
  return known !== undefined && known.until > clock.elapsed()
}

/** What is over here although the wall clock does not say so: it was set back. */
export function overHere({ clock, kept }: Keeper): (CallId | TurnId)[] {
  const [now, elapsed] = [clock.now(), clock.elapsed()]
  const over: (CallId | TurnId)[] = []
  for (const [id, { until, deadline }] of kept) if (until <= elapsed && deadline > now) over.push(id)
  return over
}

/** Turns and calls that have ended without anybody here being told are not kept for ever. */
export function forgetPast({ clock, kept }: Keeper, pastMs: Millis): void {
  const before = clock.elapsed() - pastMs
  for (const [id, { until }] of kept) if (until < before) kept.delete(id)
}
