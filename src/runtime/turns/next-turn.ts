/**
 * R12: what waits behind a turn starts in the commit that ends it, where this node may run it. So nothing
 * has to remember that something waits: whatever was queued by then is seen, and what is queued later is
 * somebody else's commit, which sees that the session rests.
 */
import type { EventOf } from '../../model/event.ts'
import type { SessionRow, TurnRow } from '../../model/facts.ts'
import type { Millis, TurnId } from '../../model/id.ts'
import { messageMsMax, turnMsMax } from '../../model/time-limits.ts'
import { deadlineNow, msLeft } from '../kernel/kept-time.ts'
import { startedEvent } from '../kernel/commit.ts'
import { findAgent } from '../kernel/projects-port.ts'
import { isThere } from '../kernel/runtime.ts'
import type { Runtime } from './runtime.ts'
import type { Tx } from '../kernel/store-port.ts'

/** A turn that this node has started or taken over, and has to run now. */
export type Claimed = { row: TurnRow; takeover: boolean }

type Start = { event: EventOf<'turn.started'>; claimed: Claimed }

/** What follows the end of a turn: the start of the next, or a look at what could not start in this commit. */
export type Next = { events: EventOf<'turn.started'>[]; claimed: Claimed | null; look: boolean }

export const nothingNext: Next = { events: [], claimed: null, look: false }

/**
 * Only what a user or a program opened has a queue: what a call made serves that call, and clients outside
 * have all their turns at once. `note` is told of the turn before it is committed.
 */
export async function takeNext(
  runtime: Runtime,
  tx: Tx,
  ending: SessionRow,
  note: (turn: TurnId) => void,
): Promise<Next> {
  if (ending.kind !== 'persistent' || runtime.stopping.signal.aborted) return nothingNext
  const { session, next } = await tx.session(ending.id)
  if (session === null || next === null) return nothingNext
  const start = planStart(runtime, session, next, tx.now)
  if (start === null) return { ...nothingNext, look: isOverdue(runtime, next) }
  note(next.id)
  return { events: [start.event], claimed: start.claimed, look: false }
}

/** Null where nobody here can run it, or its sender waits no longer. */
export function planStart(runtime: Runtime, session: SessionRow, next: TurnRow, now: Millis): Start | null {
  const agent = findAgent(runtime, session)
  if (isOverdue(runtime, next) || !isThere(runtime, agent, session)) return null
  const own =
    session.kind === 'ephemeral' && next.call !== null
      ? deadlineNow(runtime, next.call.id, next.call.deadline)
      : next.deadline > 0
        ? deadlineNow(runtime, next.id, next.deadline)
        : Infinity
  const isBounded = own !== Infinity || next.call !== null
  const until = Math.min(own, now + (isBounded ? turnMsMax : messageMsMax)(agent, runtime.limits))
  const event = startedEvent(runtime, session.id, next.id, until)
  const { node, epoch, deadline } = event
  return { event, claimed: { row: { ...next, state: 'running', node, epoch, deadline }, takeover: false } }
}

/** Whether whoever asked for a queued turn waits no longer. */
export function isOverdue(runtime: Runtime, { id, deadline, call }: TurnRow): boolean {
  if (call !== null) return msLeft(runtime, call.id, call.deadline) <= 0
  return deadline > 0 && msLeft(runtime, id, deadline) <= 0
}
