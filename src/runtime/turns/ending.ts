/**
 * The acts that end things: a turn whose driver has stopped, a call whose deadline has come, a cancel. Each
 * is one transaction (R1, R3).
 */
import { findAgent } from '../kernel/projects-port.ts'
import {
  asStopped,
  cancelTurn,
  describeStop,
  endCall,
  endTurn,
  reportsFailure,
  type Progress,
  type ProgressOf,
  type TurnResult,
} from '../../model/end.ts'
import { type CallId, type SessionId, type TurnId } from '../../model/id.ts'
import type { Event, Opening } from '../../model/event.ts'
import { isRecord } from '../../model/json.ts'
import { answerUnitsMax, sessionTurnsMax } from '../../model/limits.ts'
import { addSpent, nothingSpent, readSpent } from '../../model/money.ts'
import type { SessionRow, TurnFacts, TurnRow } from '../../model/facts.ts'
import { countGently, tailUnits } from '../../model/text.ts'
import { callMsMax } from '../../model/time-limits.ts'
import { describeTimeout } from '../../model/timeout-words.ts'
import { assertOurs, commit, isOurs, takeBuffer } from '../kernel/commit.ts'
import { forgetTime } from '../kernel/kept-time.ts'
import type { Runtime } from './runtime.ts'
import type { Key, Tx } from '../kernel/store-port.ts'
import { countSpent, currentFacts, turnProgress, type Running } from '../kernel/running.ts'
import { readRecorded } from '../kernel/recorded.ts'
import { nothingNext, takeNext, type Next } from './next-turn.ts'
import { findPending } from './pending-call.ts'

/**
 * R3: what is pending below ends with it. Tokens are settled along the path, so every session on it is held.
 */
const endKeys = (row: TurnRow): Key[] => [
  `flow:${row.flow}`,
  ...row.grant.path.map((hop): Key => `session:${hop.session}`),
  ...(row.call === null ? [] : [`call:${row.call.id}` as const, `session:${row.call.caller}` as const]),
]

const localProgress =
  (runtime: Runtime): ProgressOf =>
  (turn) => {
    const running = runtime.running.get(turn)
    return running === undefined ? undefined : turnProgress(running)
  }

/** What waits behind it starts in the same commit (R12). */
export const finishTurn = (
  runtime: Runtime,
  running: Running,
  given: TurnResult,
  note: (turn: TurnId) => void,
): Promise<Next> => {
  const end = async (tx: Tx, buffered: Event[]): Promise<Next> => {
    const mine = currentFacts(running, assertOurs(await tx.activation(running.row.id), running, runtime))
    const result = asStopped(mine, given)
    const facts = reportsFailure(mine, result) ? { ...mine, session: await readSession(tx, mine) } : mine
    // Only this activation can have opened calls below: there is nothing to look for if it saw them all end.
    const below = running.pendingBelow > 0 || running.recorded !== null ? await tx.below(running.row.id) : []
    const heir =
      facts.turn.call?.outcome === 'timed_out' && result.outcome === 'completed'
        ? await findHeir(tx, facts.turn)
        : null
    const next = await takeNext(runtime, tx, running.session, note)
    // What its driver left running may have ended while this was on its way: it is recorded and charged.
    buffered.push(...takeBuffer(running))
    const now = countSpent(running)
    const whole = now.tokensUsed > result.tokensUsed ? { ...result, ...now } : result
    tx.append(
      ...buffered,
      ...endTurn(facts, below, whole, localProgress(runtime), tx.now, runtime.limits, heir),
      ...next.events,
    )
    return next
  }
  return commit(runtime, running, endKeys(running.row), end, true)
}

/** The session as it is now: it may have another parent than when the turn began. */
const readSession = async (tx: Tx, { session }: TurnFacts): Promise<SessionRow> =>
  (await tx.session(session.id)).session ?? session

/**
 * Along the path, from the caller up: a session that a call made is there only while that call is pending.
 */
async function findHeir(tx: Tx, { grant }: TurnRow): Promise<SessionId | null> {
  for (const { session } of grant.path.slice(0, -1).toReversed()) {
    const { session: row, running } = await tx.session(session)
    if (
      row !== null &&
      row.archived !== 'deleted' &&
      (row.kind !== 'ephemeral' || running?.call?.pending === true)
    )
      return session
  }
  return null
}

/**
 * R4: any node may do this, at the deadline or long after. `over`: the time was kept here and has passed,
 * whatever the wall clock says.
 */
export async function expireCall(runtime: Runtime, call: CallId, over = false): Promise<void> {
  const known = await findPending(runtime, call)
  if (known === null) return void forgetTime(runtime, call)
  const { row, opened, session } = known
  const progress = await progressWith(runtime, row)
  const agent = session === null ? undefined : findAgent(runtime, session)
  const error = describeTimeout(opened, row.openedAt, callMsMax(opened.tool, agent, runtime.limits))
  await runtime.store.transact(
    endKeys(row),
    async (tx) => {
      const facts = await tx.turn(row.id)
      if (facts?.turn.call == null || (facts.turn.call.deadline > tx.now && !over)) return
      tx.append(
        ...endCall(
          facts,
          await tx.below(row.id),
          'timed_out',
          error,
          'deadline',
          progress,
          tx.now,
          runtime.limits,
        ),
      )
    },
    true,
  )
}

/**
 * A turn that runs elsewhere, or that has only begun to run again here, has said at least what the log has.
 */
async function progressWith(runtime: Runtime, row: TurnRow): Promise<ProgressOf> {
  const here = runtime.running.get(row.id)
  const local = localProgress(runtime)
  if (here !== undefined && here.recorded === null) return local
  const recorded = await recordedProgress(runtime, row)
  return (turn) => (turn === row.id ? fuller(local(turn), recorded) : local(turn))
}

const fuller = (a: Progress | undefined, b: Progress | undefined): Progress | undefined =>
  (a?.output.length ?? -1) >= (b?.output.length ?? -1) ? a : b

/**
 * Ends a turn and everything below it; its driver is told by a hint, or at the next sweep. True if there was
 * something to cancel. `only`: nothing is cancelled where another activation has the turn.
 */
export async function cancel(
  runtime: Runtime,
  turn: TurnId,
  outcome: 'cancelled' | 'timed_out',
  cause: string,
  only?: Running,
): Promise<boolean> {
  const row = await runtime.store.turn(turn)
  if (row === null || row.state === 'ended') return false
  const progress = await progressWith(runtime, row)
  return runtime.store.transact(
    endKeys(row),
    async (tx) => {
      const facts = await tx.turn(turn)
      if (facts === null || (only !== undefined && !isOurs(facts.turn, only, runtime))) return false
      const events = cancelTurn(facts, await tx.below(turn), outcome, cause, progress, tx.now, runtime.limits)
      tx.append(...events)
      return events.length > 0
    },
    outcome === 'timed_out',
  )
}

/**
 * What is queued for a session that nobody can run fails, and says why; it stands in the conversation like
 * any other failure.
 */
export async function failQueued(runtime: Runtime, session: SessionId, why: string): Promise<void> {
  for (const row of await runtime.store.turns({ session }, sessionTurnsMax)) {
    const opened = row.state === 'queued' ? (await runtime.store.event(row.openedSeq))?.event : undefined
    if (opened === undefined || !('grant' in opened)) continue
    const asked = await readAsked(runtime, opened)
    await runtime.store.transact(endKeys(row), async (tx) => {
      const facts = await tx.turn(row.id)
      if (facts?.turn.state !== 'queued') return
      const entry = failedEntry(runtime, facts, asked, why)
      tx.append(
        ...endTurn(
          facts,
          [],
          {
            outcome: 'failed',
            output: '',
            error: why,
            iterations: 0,
            toolCalls: [],
            tokensUsed: 0,
            tokensBelow: 0,
            entry,
          },
          () => undefined,
          tx.now,
          runtime.limits,
        ),
      )
    })
  }
}

type Asked = Pick<NonNullable<TurnResult['entry']>, 'asked' | 'askedTokens' | 'from'>

/** Counted before the transaction, because a long task takes its time. */
async function readAsked(runtime: Runtime, opened: Opening): Promise<Asked> {
  if (opened.type !== 'call.opened')
    return { asked: opened.text, askedTokens: opened.tokens, from: opened.from }
  return {
    asked: opened.task,
    askedTokens: await countGently(runtime.count, opened.task),
    from: opened.grant.path.at(-2)?.agent ?? null,
  }
}

const failedEntry = (
  runtime: Runtime,
  { turn, session }: TurnFacts,
  asked: Asked,
  why: string,
): TurnResult['entry'] => ({
  n: session.entries + 1,
  ...asked,
  startedAt: turn.openedAt,
  answered: `[${why}]`,
  answeredTokens: runtime.count(why),
})

/**
 * Ends a turn that this node has just taken over, without running it: under its new epoch nobody else writes
 * for it (R6).
 */
export async function failTaken(
  runtime: Runtime,
  row: TurnRow,
  opened: Opening,
  why: string,
  note: (turn: TurnId) => void,
): Promise<Next> {
  const progress = await recordedProgress(runtime, row)
  const asked = await readAsked(runtime, opened)
  return runtime.store.transact(endKeys(row), async (tx) => {
    const facts = await tx.turn(row.id)
    if (facts?.turn.state !== 'running' || facts.turn.node !== runtime.node || facts.turn.epoch !== row.epoch)
      return nothingNext
    const outcome = facts.turn.stopping ?? 'failed'
    const error = facts.turn.stopping === null ? why : describeStop(outcome)
    const next = await takeNext(runtime, tx, facts.session, note)
    tx.append(
      ...endTurn(
        facts,
        await tx.below(row.id),
        { outcome, error, ...progress, entry: failedEntry(runtime, facts, asked, error) },
        () => undefined,
        tx.now,
        runtime.limits,
      ),
      ...next.events,
    )
    return next
  })
}

/** Best effort for a turn that runs elsewhere or whose node died: what its recorded steps said. */
export async function recordedProgress(runtime: Runtime, row: TurnRow): Promise<Progress> {
  const { events } = await readRecorded(runtime.store, row)
  const texts: string[] = []
  const tools = new Set<string>()
  let iterations = 0
  let tokensUsed = 0
  let spent = nothingSpent
  for (const { event } of events) {
    if (event.type === 'call.opened') tools.add(event.tool)
    if (event.type !== 'step.ended') continue
    tokensUsed += event.usage === null ? 0 : event.usage.input + event.usage.output
    spent = addSpent(spent, readSpent(event.usage))
    if (event.kind === 'tool') tools.add(event.name)
    if (event.kind !== 'model') continue
    iterations += 1
    const { output } = event
    if (isRecord(output) && typeof output['text'] === 'string' && output['text'] !== '')
      texts.push(output['text'])
  }
  const output = tailUnits(texts.join('\n'), answerUnitsMax)
  return { output, tokensUsed, tokensBelow: 0, spent, toolCalls: [...tools], iterations }
}
