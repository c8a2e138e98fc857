/**
 * R12: what can run, runs, in the order in which it came and with the time that its sender gave it. All three
 * are decided from what was asked, not from what the runtime made of it.
 */
import type { Event, EventOf } from '../src/model/event.ts'
import { toTurnId, type SessionId, type TurnId } from '../src/model/id.ts'
import type { Limits } from '../src/model/limits.ts'
import type { Broken, Ledger, LedgerTurn, Written } from './ledger.ts'

/** A transaction has the time of its beginning, and how much time is left is looked at a little later. */
export const decidedMs = 20

/** A turn that was queued, or opens just now, begins. */
export function checkBeginning(
  ledger: Ledger,
  event: EventOf<'turn.started'>,
  { at }: Written,
  limits: Limits,
): Broken {
  const turn = ledger.turn(event.turn)
  const first = ledger.findNext(event.session)
  if (first !== undefined && first !== turn)
    return `R12: ${turn.id} starts before ${first.id}, which waits longer in ${event.session}`
  const { jumpsMs } = ledger.jumps
  if (turn.openedAt < at && turn.due + jumpsMs <= at)
    return `R4: ${turn.id} begins ${at - turn.due} ms after its sender's deadline`
  // What a call asks of a session that keeps its conversation may go on after the call's deadline.
  const bound = turn.call === null || ledger.sessions.get(event.session)?.kind === 'ephemeral'
  const until = Math.floor(Math.min(at + limits.turnMsMax, bound ? turn.due : Infinity))
  return Math.abs(event.deadline - until) <= Math.max(decidedMs, jumpsMs)
    ? null
    : `R4: ${turn.id} may run until ${event.deadline - at} ms from its start, and was given ${until - at} ms`
}

/**
 * After a transaction: what it made possible has begun in it. Every node of the simulation may run everything,
 * unless it is being stopped.
 */
export function checkConserved(ledger: Ledger, { events, at, writer }: Written): Broken {
  if (writer !== null && ledger.stopping.has(writer)) return null
  for (const event of events) {
    const session = findRested(ledger, event)
    const next = session === null ? undefined : ledger.findNext(session)
    if (session === null || next === undefined || next.due <= at + decidedMs + ledger.jumps.jumpsMs) continue
    // Behind something else, which its own end or the sweep starts or ends, it waits.
    if (event.type !== 'turn.ended' && next.id !== findOpened(event)) continue
    return `R12: ${next.id} waits in ${session}, which rests since ${event.type}`
  }
  return null
}

const findOpened = (event: Event): TurnId | null =>
  event.type === 'call.opened' ? toTurnId(event.call) : event.turn

/** The session that this event brings to rest, or gives something to while it rests. */
function findRested(ledger: Ledger, event: Event): SessionId | null {
  const session =
    event.type === 'call.opened'
      ? event.target
      : event.type === 'message.sent' || (event.type === 'message.delivered' && event.opens)
        ? event.session
        : event.type === 'turn.ended' && ledger.turn(event.turn).epoch > 0
          ? event.session
          : null
  return session === null || ledger.findRunning(session) !== undefined ? null : session
}

/**
 * What no commit started is started by the sweep, and what a node left behind is taken over, if a node was well
 * for all of that time.
 */
export function checkIdle(
  ledger: Ledger,
  live: ReadonlySet<LedgerTurn>,
  wellSince: number,
  slackMs: number,
): Broken {
  for (const turn of live) {
    if (turn.state === 'running') return checkLeft(ledger, turn, wellSince, slackMs)
    const from = Math.max(wellSince, turn.openedAt, ledger.restsSince.get(turn.session) ?? 0)
    if (from + slackMs < ledger.now)
      return `R12: ${turn.id} waits in ${turn.session}, which rests for ${ledger.now - from} ms`
  }
  return null
}

function checkLeft(ledger: Ledger, turn: LedgerTurn, wellSince: number, slackMs: number): Broken {
  const until = ledger.leases.until(turn.node)
  return Math.max(wellSince, until + ledger.jumps.jumpsMs, turn.begunAt) + slackMs < ledger.now
    ? `R12: ${turn.id} runs nowhere: ${turn.node ?? 'nobody'} lost its lease ${ledger.now - until} ms ago`
    : null
}
