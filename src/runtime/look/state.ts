/** What a session is doing, and waiting until it does nothing. */
import type { Outcome } from '../../model/event.ts'
import type { SessionRow, TurnRow } from '../../model/facts.ts'
import { nameClientProgram } from '../../model/client-address.ts'
import type { SessionId } from '../../model/id.ts'
import { userSession } from '../../model/mail.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import { findAgent } from '../kernel/projects-port.ts'
import { isThere, listenForStop } from '../kernel/runtime.ts'
import type { Runtime } from './runtime.ts'
import { isoTime } from '../kernel/system-clock.ts'
import type { SessionStatus, SessionState } from '../../wire/sessions.ts'

/** Cancelled on purpose is no error. */
const errors: ReadonlySet<Outcome> = new Set(['failed', 'timed_out', 'budget_exhausted', 'lost'])

export const sessionStatus = (active: boolean, outcome: Outcome | null): SessionStatus =>
  active ? 'streaming' : outcome !== null && errors.has(outcome) ? 'error' : 'idle'

/**
 * `idle`: nothing runs, nothing is queued, nothing is about to go on. What waits for a program that is away does
 * not stream either; `isActive` and `queued` tell of it.
 */
export async function readState(runtime: Runtime, session: SessionId): Promise<SessionState | Refusal> {
  const { session: row, running, runnerAlive, queued, next } = await runtime.store.sessionFacts(session)
  if (row === null) return { code: 'session_unknown', session }
  const [last] = row.entries === 0 ? [] : await runtime.store.entriesByNumber(session, [row.entries])
  const lastTurn = last === undefined ? null : await runtime.store.turn(last.turn as TurnRow['id'])
  const active = row.kind !== 'external' && (running !== null || next !== null)
  const elsewhere = running !== null && running.node !== runtime.node && runnerAlive
  return {
    sessionId: session,
    status: sessionStatus(
      active && (elsewhere || isRun(runtime, row)),
      lastTurn === null ? null : await lastOutcome(runtime, lastTurn),
    ),
    cwd: row.cwd,
    isActive: active,
    lastMessage:
      last === undefined ? null : { role: last.role, content: last.text, timestamp: isoTime(last.at) },
    queued,
    parent: row.parent,
    depth: (running ?? next ?? lastTurn)?.grant.depth ?? 0,
  }
}

/** Whether anybody runs its turns now. */
export function isRun(runtime: Runtime, row: SessionRow): boolean {
  const agent = findAgent(runtime, row)
  return agent !== undefined && isThere(runtime, agent, row)
}

export async function lastOutcome(runtime: Pick<Runtime, 'store'>, turn: TurnRow): Promise<Outcome | null> {
  if (turn.endedSeq === null) return null
  const stored = await runtime.store.event(turn.endedSeq)
  return stored?.event.type === 'turn.ended' || stored?.event.type === 'call.ended'
    ? stored.event.outcome
    : null
}

export const isResting = ({ isActive }: SessionState): boolean => !isActive

const lookAgainMs = 500

/**
 * Looks when something was appended, and now and then. The state as it is when the time is over or the signal aborts;
 * rejects when this node stops.
 */
export async function untilResting(
  runtime: Runtime,
  session: SessionId,
  ms: number,
  signal: AbortSignal,
): Promise<SessionState | Refusal> {
  const end = runtime.clock.elapsed() + ms
  let wake = (): void => undefined
  const unsubscribe = runtime.store.onHint((hints) => {
    if (hints.some((hint) => hint.kind === 'turn.ended' && hint.session === session)) wake()
  })
  try {
    for (;;) {
      const news = new Promise<void>((resolve) => (wake = resolve))
      const state = await readState(runtime, session)
      if (isRefusal(state) || isResting(state) || runtime.clock.elapsed() >= end || signal.aborted)
        return state
      await Promise.race([news, nap(runtime, Math.min(end - runtime.clock.elapsed(), lookAgainMs), signal)])
      runtime.stopping.signal.throwIfAborted()
    }
  } finally {
    unsubscribe()
  }
}

/** Until the time is over, the signal aborts, or this node stops. */
export async function nap(runtime: Runtime, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = (): void => resolve()
  const clearAlarm = runtime.alarm.after(ms, done)
  const forget = listenForStop(runtime, done)
  signal.addEventListener('abort', done, { once: true })
  await promise
  clearAlarm()
  forget()
  signal.removeEventListener('abort', done)
}

/** What people call its agent. */
export const displayAgent = (runtime: Runtime, row: SessionRow): string =>
  row.kind === 'external'
    ? row.id === userSession
      ? 'you'
      : nameClientProgram(row)
    : (findAgent(runtime, row)?.title ?? row.agent)
