/**
 * How turns and calls end. R3: the first committed ending of a call wins, later ones change nothing, and an
 * ending ends everything pending below in the same decision.
 * R7: the tokens that a call held stay held until its turn has really stopped (`turn.ended`).
 */
import type { Event, EventOf, Outcome } from './event.ts'
import type { BelowRow, TurnFacts, TurnRow } from './facts.ts'
import { callsBelow, type Millis, type SessionId, type TurnId } from './id.ts'
import type { Limits } from './limits.ts'
import { cutBytes } from './text.ts'

export type TurnResult = {
  outcome: Outcome
  output: string
  error: string | null
  iterations: number
  toolCalls: readonly string[]
  tokensUsed: number
  tokensBelow: number
  entry: EventOf<'turn.ended'>['entry']
}

/** What a turn has said and used so far, where somebody here knows it. */
export type Progress = {
  output: string
  tokensUsed: number
  tokensBelow: number
  toolCalls: readonly string[]
  iterations: number
}
export type ProgressOf = (turn: TurnId) => Progress | undefined

/**
 * The turn's driver has stopped: the turn ends, its call with it if it is still pending, and what it left
 * pending below. `heir` hears of what comes too late: the caller, or the nearest above it that is still
 * there.
 */
export function endTurn(
  { turn, session }: TurnFacts,
  below: readonly BelowRow[],
  result: TurnResult,
  progressOf: ProgressOf,
  now: Millis,
  limits: Limits,
  heir: SessionId | null = null,
): Event[] {
  // A client's turn has the tool's answer as its output, which is JSON and was cut by the tool: a retry must
  // be able to read it.
  const output =
    session.kind === 'external' ? result.output : cutBytes(result.output, limits.resultBytesMax).text
  const waiter = turn.grant.path.at(-1)?.session
  const events: Event[] = [
    // R5: whoever acts through the session of its calls waits for that session while a turn of it runs, and
    // no longer.
    ...(waiter === undefined || turn.session !== callsBelow(waiter)
      ? []
      : [
          {
            type: 'wait.ended' as const,
            session: waiter,
            turn: turn.id,
            target: turn.session,
            reason: 'the tool has answered',
          },
        ]),
    ...endBelow(below, `the turn that made it ended (${result.outcome})`, progressOf, now, limits),
    {
      type: 'turn.ended',
      session: turn.session,
      turn: turn.id,
      outcome: result.outcome,
      output: turn.call === null ? output : '',
      error: result.error,
      tokensUsed: result.tokensUsed,
      tokensBelow: result.tokensBelow,
      iterations: result.iterations,
      toolCalls: [...result.toolCalls],
      entry: session.kind === 'persistent' ? result.entry : null,
    },
  ]
  if (turn.call === null) return [...events, ...failureNotice(turn, session, result)]
  if (turn.call.pending)
    return [
      ...events,
      callEnded(
        turn,
        result.outcome,
        result.error === null ? [] : [result.error],
        'answered',
        { ...result },
        now,
        limits,
      ),
    ]
  // Nobody waits any more. What a persistent session still found out goes to its caller as a notice; what was
  // cancelled on purpose does not.
  if (turn.call.outcome === 'timed_out' && result.outcome === 'completed' && session.kind === 'persistent') {
    events.push({
      type: 'notice.raised',
      session: heir ?? turn.call.caller,
      turn: null,
      about: turn.call.id,
      text: `${turn.grant.agent} finished after the deadline of ${turn.call.id}:\n${output}`,
    })
  }
  return events
}

/** Whoever made a session is told when it fails: nobody else waits for it. */
function failureNotice(
  turn: TurnRow,
  session: TurnFacts['session'],
  { outcome, error }: TurnResult,
): Event[] {
  if (
    session.parent === null ||
    session.kind !== 'persistent' ||
    outcome === 'completed' ||
    outcome === 'cancelled'
  )
    return []
  return [
    {
      type: 'notice.raised',
      session: session.parent,
      turn: null,
      about: session.id,
      text: `${turn.grant.agent} in ${session.id} ended ${outcome}: ${error ?? 'no reason was given'}`,
    },
  ]
}

/** Deadline, cancel or loss: the call ends now, whatever its turn is doing. */
export function endCall(
  { turn, session }: TurnFacts,
  below: readonly BelowRow[],
  outcome: Outcome,
  error: string,
  cause: string,
  progressOf: ProgressOf,
  now: Millis,
  limits: Limits,
): Event[] {
  if (turn.call === null || !turn.call.pending) return [] // R3
  const events: Event[] = [
    ...endBelow(below, `the call above it ended (${outcome})`, progressOf, now, limits),
    callEnded(turn, outcome, [error], cause, progressOf(turn.id), now, limits),
  ]
  const goesOn = outcome === 'timed_out' && session.kind === 'persistent'
  if (turn.state === 'running' && turn.stopping === null && !goesOn)
    events.push({ type: 'turn.cancelled', session: turn.session, turn: turn.id, outcome, cause })
  return events
}

/**
 * A turn is told to stop. Its call and everything below end now; the turn itself when its driver has stopped.
 */
export function cancelTurn(
  facts: TurnFacts,
  below: readonly BelowRow[],
  outcome: 'cancelled' | 'timed_out',
  cause: string,
  progressOf: ProgressOf,
  now: Millis,
  limits: Limits,
): Event[] {
  const { turn } = facts
  if (turn.state === 'ended' || turn.stopping !== null) return []
  const ended: Event[] =
    turn.call?.pending === true
      ? [
          ...endBelow(below, `the call above it ended (${outcome})`, progressOf, now, limits),
          callEnded(turn, outcome, [`${outcome}: ${cause}`], cause, progressOf(turn.id), now, limits),
        ]
      : endBelow(below, `the turn that made it was stopped (${outcome})`, progressOf, now, limits)
  if (turn.state === 'running')
    return [...ended, { type: 'turn.cancelled', session: turn.session, turn: turn.id, outcome, cause }]
  return turn.call === null ? [...ended, neverRan(turn, outcome, cause)] : ended
}

const neverRan = (turn: TurnRow, outcome: Outcome, cause: string): Event => ({
  type: 'turn.ended',
  session: turn.session,
  turn: turn.id,
  outcome,
  output: '',
  error: cause,
  tokensUsed: 0,
  tokensBelow: 0,
  iterations: 0,
  toolCalls: [],
  entry: null,
})

function endBelow(
  below: readonly BelowRow[],
  why: string,
  progressOf: ProgressOf,
  now: Millis,
  limits: Limits,
): Event[] {
  return below.flatMap(({ turn }): Event[] => {
    const ended =
      turn.call?.pending === true
        ? [callEnded(turn, 'cancelled', [why], why, progressOf(turn.id), now, limits)]
        : [] // R3
    if (turn.state !== 'running' || turn.stopping !== null) return ended
    return [
      ...ended,
      { type: 'turn.cancelled', session: turn.session, turn: turn.id, outcome: 'cancelled', cause: why },
    ]
  })
}

function callEnded(
  turn: TurnRow,
  outcome: Outcome,
  errors: string[],
  cause: string,
  progress: Progress | undefined,
  now: Millis,
  limits: Limits,
): Event {
  const call = turn.call
  if (call === null) throw new Error(`${turn.id} serves no call`)
  const whole = progress?.output ?? ''
  const { text, truncated } = cutBytes(whole, limits.resultBytesMax)
  return {
    type: 'call.ended',
    session: call.caller,
    turn: call.callerTurn,
    call: call.id,
    target: turn.session,
    outcome,
    output: text,
    outputBytes: Buffer.byteLength(whole),
    truncated,
    errors,
    toolCalls: [...(progress?.toolCalls ?? [])],
    tokensUsed: (progress?.tokensUsed ?? 0) + (progress?.tokensBelow ?? 0),
    iterations: progress?.iterations ?? 0,
    openedAt: turn.openedAt,
    endedAt: now,
    cause,
  }
}
