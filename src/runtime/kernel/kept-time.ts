/**
 * Time limits that this process keeps. A deadline in the log is a moment of the wall clock, because other
 * nodes and a restart must be able to read it; the wall clock may be set back or forward.
 * So a limit is taken over once, with both clocks of that moment, and from then on only elapsed time counts. That is in
 * the transaction in which the deadline is made: the wall clock may be set before its commit is known. Of a deadline
 * whose commit fails nobody asks. One that somebody else made is taken over when what it limits begins here.
 * What nobody here keeps is judged by the wall clock.
 */
import type { CallId, Millis, TurnId } from '../../model/id.ts'
import type { Clock } from './ports.ts'

/**
 * `until` on the clock that only passes; `deadline` as it stands in the log; `aheadMs` is how far the wall
 * clock was ahead of elapsed time then.
 */
export type Kept = { until: Millis; deadline: Millis; aheadMs: Millis }

/**
 * Of each its limit, and another one that was made later and may not have come to the log: an input that is queued has
 * one of its sender, and one of its own where it begins.
 */
export type KeptTime = Map<CallId | TurnId, readonly [Kept, Kept?]>

type Keeper = { clock: Clock; kept: KeptTime }

/** Takes a limit over. One that is kept already stays: the wall clock may have been set meanwhile. */
export function keepTime(keeper: Keeper, id: CallId | TurnId, deadline: Millis): void {
  const known = keeper.kept.get(id)
  if (known === undefined) keeper.kept.set(id, [readLimit(keeper, deadline)])
  else if (find(known, deadline) === undefined) keeper.kept.set(id, [known[0], readLimit(keeper, deadline)])
}

/** What it limits has begun here: no other limit of it counts any more. */
export function keepOnly(keeper: Keeper, id: CallId | TurnId, deadline: Millis): void {
  keeper.kept.set(id, [find(keeper.kept.get(id), deadline) ?? readLimit(keeper, deadline)])
}

function readLimit({ clock }: Keeper, deadline: Millis): Kept {
  const [now, elapsed] = [clock.now(), clock.elapsed()]
  return { until: elapsed + (deadline - now), deadline, aheadMs: now - elapsed }
}

const find = (known: readonly (Kept | undefined)[] | undefined, deadline: Millis): Kept | undefined =>
  known?.find((limit) => limit?.deadline === deadline)

export const forgetTime = ({ kept }: Keeper, id: CallId | TurnId): boolean => kept.delete(id)

/** How long until `deadline`. */
export function msLeft({ clock, kept }: Keeper, id: CallId | TurnId, deadline: Millis): Millis {
  const known = find(kept.get(id), deadline)
  return known === undefined ? deadline - clock.now() : known.until - clock.elapsed()
}

/** Both readings are whole milliseconds, and are not taken at the same moment. */
const unsetMs = 20

/** A deadline as it stands on the wall clock of this moment, for rules, which know no other. */
export function deadlineNow({ clock, kept }: Keeper, id: CallId | TurnId, deadline: Millis): Millis {
  const known = find(kept.get(id), deadline)
  const setByMs = known === undefined ? 0 : clock.now() - clock.elapsed() - known.aheadMs
  return Math.abs(setByMs) < unsetMs ? deadline : deadline + setByMs
}

/** Whether a limit that the wall clock says is over still runs here. */
export function stillRuns({ clock, kept }: Keeper, id: CallId | TurnId): boolean {
  const elapsed = clock.elapsed()
  return kept.get(id)?.some((limit) => limit !== undefined && limit.until > elapsed) ?? false
}

/** What is over here although the wall clock does not say so: it was set back. */
export function overHere({ clock, kept }: Keeper): { id: CallId | TurnId; deadline: Millis }[] {
  const [now, elapsed] = [clock.now(), clock.elapsed()]
  const over: { id: CallId | TurnId; deadline: Millis }[] = []
  for (const [id, limits] of kept)
    for (const limit of limits)
      if (limit !== undefined && limit.until <= elapsed && limit.deadline > now)
        over.push({ id, deadline: limit.deadline })
  return over
}

/** Turns and calls that have ended without anybody here being told are not kept for ever. */
export function forgetPast({ clock, kept }: Keeper, pastMs: Millis): void {
  const before = clock.elapsed() - pastMs
  for (const [id, limits] of kept)
    if (limits.every((limit) => limit === undefined || limit.until < before)) kept.delete(id)
}
