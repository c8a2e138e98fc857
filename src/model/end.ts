/**
 * How turns and calls end. R3: the first committed ending of a call wins, later ones change nothing, and an
 * ending ends everything pending below in the same decision.
 * R7: the tokens that a call held stay held until its turn has really stopped (`turn.ended`).
 */
import type { Event, EventOf, Outcome } from './event.ts'
import type { Moved } from './fallback.ts'
import type { BelowRow, TurnFacts, TurnRow } from './facts.ts'
import { callsBelow, type Millis, type SessionId, type TurnId } from './id.ts'
import type { Limits } from './limits.ts'
import { addSpent, nothingSpent, recordSpent, type Spent } from './money.ts'
import { cutBytes } from './text.ts'

/** What a turn has said and used so far, where this process knows it. */
export type Progress = {
  output: string
  tokensUsed: number
  tokensBelow: number
  /** Left out where nothing is known to have a price. */
  spent?: Spent | undefined
  spentBelow?: Spent | undefined
  toolCalls: readonly string[]
  iterations: number
  moved?: Moved | undefined
}
export type TurnResult = Progress &
  Pick<EventOf<'turn.ended'>, 'outcome' | 'error' | 'entry'> & {
    /** The result of a call in the background, for the client whose turn this is. */
    notice?: { about: string; text: string }
  }
export type ProgressOf = (turn: TurnId) => Progress | undefined

/**
 * The turn's driver has stopped: the turn ends, its call with it if it is still pending, and what it left
 * pending below. `heir` hears of what comes too late: the caller, or the nearest above it that is still
 * there.
 */
export function endTurn(
  facts: TurnFacts,
  below: readonly BelowRow[],
  result: TurnResult,
  progressOf: ProgressOf,
  now: Millis,
  limits: Limits,
  heir: SessionId | null = null,
): Event[] {
  const { turn, session } = facts
  const { outcome, error, toolCalls, entry, notice, ...used } = result
  const world = { progressOf, now, limits }
  // A client's turn has the tool's answer as its output, which is JSON and was cut by the tool: a retry must
  // be able to read it.
  const output =
    session.kind === 'external' ? result.output : cutBytes(result.output, limits.resultBytesMax).text
  const events: Event[] = [
    ...endOwnWait(turn),
    ...endBelow(below, `the turn that made it ended (${outcome})`, world),
    {
      type: 'turn.ended',
      session: turn.session,
      turn: turn.id,
      outcome,
      output: turn.call === null ? output : '',
      error,
      tokensUsed: used.tokensUsed,
      tokensBelow: used.tokensBelow,
      ...recordSpent(used.spent),
      ...(used.spentBelow === undefined || used.spentBelow.nanoUsd === 0
        ? {}
        : { spentBelow: used.spentBelow }),
      iterations: used.iterations,
      toolCalls: [...toolCalls],
      entry: session.kind === 'persistent' ? entry : null,
      ...(used.moved === undefined ? {} : { moved: used.moved }),
    },
  ]
  if (notice !== undefined) events.push(raiseNotice(turn.session, notice.about, notice.text))
  if (turn.call === null) return [...events, ...failureNotice(facts, result)]
  if (turn.call.pending)
    return [...events, callEnded(turn, outcome, error === null ? [] : [error], 'answered', result, world)]
  // Nobody waits any more. What a persistent session still found out goes to its caller as a notice; what was
  // cancelled on purpose does not.
  if (turn.call.outcome === 'timed_out' && outcome === 'completed' && session.kind === 'persistent') {
    const text = `${turn.grant.agent} finished after the deadline of ${turn.call.id}:\n${output}`
    events.push(raiseNotice(heir ?? turn.call.caller, turn.call.id, text))
  }
  return events
}

/**
 * R3: a root that was told to stop has ended so for whoever waits, even where its driver was done before it heard of
 * it. What it said is kept. A client's turn has the answer of a tool, which its retry must be able to read.
 */
export function asStopped({ turn, session }: TurnFacts, result: TurnResult): TurnResult {
  const { stopping } = turn
  if (stopping === null || turn.call !== null || session.kind === 'external') return result
  return { ...result, outcome: stopping, error: result.error ?? describeStop(stopping) }
}

export const describeStop = (outcome: Outcome): string => `${outcome}: the turn was stopped`

/** R5: a session that acts through the session of its calls waits for that one while a turn of it runs. */
function endOwnWait({ id, session, grant }: TurnRow): Event[] {
  const waiter = grant.path.at(-1)?.session
  if (waiter === undefined || session !== callsBelow(waiter)) return []
  return [{ type: 'wait.ended', session: waiter, turn: id, target: session, reason: 'the tool has answered' }]
}

const raiseNotice = (session: SessionId, about: string, text: string): Event => ({
  type: 'notice.raised',
  session,
  turn: null,
  about,
  text,
})

/** Whether its session's parent is to hear of it. */
export const reportsFailure = ({ turn, session }: TurnFacts, { outcome }: TurnResult): boolean =>
  turn.call === null && session.kind === 'persistent' && outcome !== 'completed' && outcome !== 'cancelled'

/** The parent of a session hears when it fails: nobody else waits for it. */
function failureNotice(facts: TurnFacts, result: TurnResult): Event[] {
  const { id, parent } = facts.session
  if (parent === null || !reportsFailure(facts, result)) return []
  const { grant } = facts.turn
  const { outcome, error } = result
  const text = `${grant.agent} in ${id} ended ${outcome}: ${error ?? 'no reason was given'}`
  return [raiseNotice(parent, id, text)]
}

/** A call that was given no time at all ends where it opens: nothing of it ever runs. */
export const endAtOnce = (opened: EventOf<'call.opened'>, error: string, now: Millis): Event => ({
  type: 'call.ended',
  session: opened.session,
  turn: opened.turn,
  call: opened.call,
  target: opened.target,
  outcome: 'timed_out',
  output: '',
  outputBytes: 0,
  truncated: false,
  errors: [error],
  toolCalls: [],
  tokensUsed: 0,
  iterations: 0,
  openedAt: now,
  endedAt: now,
  cause: 'deadline',
})

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
  const events = endPending(turn, below, outcome, error, cause, { progressOf, now, limits })
  const goesOn = outcome === 'timed_out' && session.kind === 'persistent'
  return goesOn ? events : [...events, ...stopTurn(turn, outcome, cause)]
}

/** Its call and everything below end now; the turn itself ends when its driver has stopped. */
export function cancelTurn(
  { turn }: TurnFacts,
  below: readonly BelowRow[],
  outcome: 'cancelled' | 'timed_out',
  cause: string,
  progressOf: ProgressOf,
  now: Millis,
  limits: Limits,
): Event[] {
  if (turn.state === 'ended' || turn.stopping !== null) return []
  const world = { progressOf, now, limits }
  const ended =
    turn.call?.pending === true
      ? endPending(turn, below, outcome, `${outcome}: ${cause}`, cause, world)
      : endBelow(below, `the turn that made it was stopped (${outcome})`, world, cause)
  if (turn.state === 'running') return [...ended, ...stopTurn(turn, outcome, cause)]
  return turn.call === null ? [...ended, neverRan(turn, outcome, cause)] : ended
}

/** What an ending is made of besides its turn. */
type World = { progressOf: ProgressOf; now: Millis; limits: Limits }

/** The pending call of a turn ends, and everything below it. */
const endPending = (
  turn: TurnRow,
  below: readonly BelowRow[],
  outcome: Outcome,
  error: string,
  cause: string,
  world: World,
): Event[] => [
  ...endBelow(below, `the call above it ended (${outcome})`, world, cause),
  callEnded(turn, outcome, [error], cause, world.progressOf(turn.id), world),
]

/** Nothing where it does not run, or is stopping already. */
const stopTurn = ({ id, session, state, stopping }: TurnRow, outcome: Outcome, cause: string): Event[] =>
  state === 'running' && stopping === null
    ? [{ type: 'turn.cancelled', session, turn: id, outcome, cause }]
    : []

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

/** `cause` is why what is above ended, for whoever reads only this. */
const endBelow = (below: readonly BelowRow[], why: string, world: World, cause?: string): Event[] =>
  below.flatMap(({ turn }): Event[] => [
    ...(turn.call?.pending === true // R3
      ? [
          callEnded(
            turn,
            'cancelled',
            [`cancelled: ${why}${cause === undefined ? '' : `: ${cause}`}`],
            why,
            world.progressOf(turn.id),
            world,
          ),
        ]
      : []),
    ...stopTurn(turn, 'cancelled', why),
  ])

function callEnded(
  turn: TurnRow,
  outcome: Outcome,
  errors: string[],
  cause: string,
  progress: Progress | undefined,
  { now, limits }: World,
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
    ...recordSpent(addSpent(progress?.spent ?? nothingSpent, progress?.spentBelow ?? nothingSpent)),
    iterations: progress?.iterations ?? 0,
    openedAt: turn.openedAt,
    endedAt: now,
    cause,
    ...(progress?.moved === undefined ? {} : { moved: progress.moved }),
  }
}
