/**
 * One turn whose driver runs here: what it has said, used and not yet recorded.
 *
 * R6: every commit of the turn passes `commit`, which refuses it when the turn has ended or another
 * activation has it.
 * Results of effects that may be repeated wait in `buffer` for the turn's next commit; nothing outside has
 * seen them as done.
 */
import type { Agent } from '../../model/agent.ts'
import type { Event, EventOf, Opening, Outcome } from '../../model/event.ts'
import type { Activation, SessionRow, TurnFacts, TurnRow } from '../../model/facts.ts'
import type { Progress } from '../../model/end.ts'
import type { CallId, Millis, SessionId, TurnId } from '../../model/id.ts'
import { Fenced, Stopped } from './faults.ts'
import { msLeft } from './kept-time.ts'
import type { Runtime } from './runtime.ts'
import { AppendFault, type Key, type Tx } from './store-port.ts'
import { type Acts, type Tool } from './ports.ts'
import type { Recorded } from './recorded.ts'
import type { Delta } from '../../wire/log.ts'

export type Running = {
  readonly row: TurnRow
  readonly session: SessionRow
  readonly agent: Agent
  readonly epoch: number
  readonly input: Opening
  readonly abort: AbortController
  readonly acts: Acts
  tools: ReadonlyMap<string, Tool>
  recorded: Recorded | null
  buffer: Event[]
  /**
   * Whether `buffer` holds a model's answer: the next model request waits until that is durable, so that a
   * crash repeats one at most.
   */
  answerBuffered: boolean
  said: string
  step: number
  stepOffset: number
  /** How much of what this step said stands in its answer, which is recorded or waits in the buffer. */
  answeredOffset: number
  tokensUsed: number
  /** Used by calls that have ended, as far as is known here. */
  tokensBelow: number
  /**
   * As the row had it when it was last looked at: held by calls that have not stopped, and used by those that
   * have (R7). Only for turns with a budget.
   */
  tokensTaken: number
  /**
   * How often a step with the same request was begun: occurrences are told apart in the order in which they
   * start.
   */
  readonly begun: Map<string, number>
  /** How many waits for a session are under way: the edge stays until the last of them is over (R5). */
  readonly waits: Map<SessionId, number>
  /** The summary that this turn is writing, so that parallel calls share it. */
  summary: Promise<string | null> | null
  readonly toolCalls: Set<string>
  iterations: number
  /** Calls that this activation opened and has not seen end; a recovered one may have older ones. */
  pendingBelow: number
  /** Calls whose end was seen. */
  readonly settled: Set<CallId>
  toolsRunning: number
  /** When the turn last did something, on the clock that only passes. */
  progressAt: Millis
  /** How the turn will have ended, once it was told to stop. */
  stopAs: Outcome | null
}

export function createRunning(
  row: TurnRow,
  session: SessionRow,
  agent: Agent,
  input: Running['input'],
  acts: (running: Running) => Acts,
): Running {
  const running: Omit<Running, 'acts'> = {
    row,
    session,
    agent,
    epoch: row.epoch,
    input,
    abort: new AbortController(),
    tools: new Map(),
    recorded: null,
    buffer: [],
    answerBuffered: false,
    said: '',
    step: 0,
    stepOffset: 0,
    answeredOffset: 0,
    tokensUsed: 0,
    tokensBelow: 0,
    tokensTaken: row.tokensBelow,
    begun: new Map(),
    waits: new Map(),
    summary: null,
    toolCalls: new Set(),
    iterations: 0,
    pendingBelow: 0,
    settled: new Set(),
    toolsRunning: 0,
    progressAt: row.openedAt,
    stopAs: null,
  }
  return Object.assign(running, { acts: acts(running as Running) })
}

export const turnProgress = (running: Running): Progress => ({
  output: running.said,
  tokensUsed: running.tokensUsed,
  tokensBelow: running.tokensBelow,
  toolCalls: [...running.toolCalls],
  iterations: running.iterations,
})

const tailCharsMax = 200_000

/**
 * What its step has said so far and no event tells yet, for whoever comes in the middle of it; null where
 * there is nothing. Of a very long text the end.
 */
export function createSaying(running: Running): Delta | null {
  const { row, epoch, step, said, stepOffset } = running
  const from = Math.max(running.answerBuffered ? 0 : running.answeredOffset, stepOffset - tailCharsMax)
  return from >= stepOffset
    ? null
    : {
        session: row.session,
        turn: row.id,
        epoch,
        step,
        offset: from,
        text: said.slice(said.length - stepOffset + from),
      }
}

/** R6: a stale activation is refused. */
export function assertOurs<T extends Pick<Activation, 'state' | 'node' | 'epoch'>>(
  facts: T | null | undefined,
  running: Running,
  runtime: Runtime,
): T {
  if (facts == null || facts.state !== 'running') throw new Fenced(`${running.row.id} has ended`)
  if (facts.node !== runtime.node || facts.epoch !== running.epoch)
    throw new Fenced(`${running.row.id} was taken over by ${facts.node ?? 'nobody'}`)
  return facts
}

/** The whole row, from what was fixed when the turn opened and what has changed since. */
export function currentFacts(
  running: Running,
  { pending, outcome, state, node, epoch, stopping, tokensBelow }: Activation,
): TurnFacts {
  const call = running.row.call === null ? null : { ...running.row.call, pending, outcome }
  return {
    turn: { ...running.row, state, node, epoch, stopping, tokensBelow, tokensUsed: running.tokensUsed, call },
    session: running.session,
  }
}

/**
 * Takes what waits in the buffer. If the work itself says no, nothing was written and it is put back in
 * front, in order.
 * If the store fails, nobody knows whether it was written: this activation then ends, and the turn is taken
 * up again from what the log says (R10).
 */
export async function commit<T>(
  runtime: Runtime,
  running: Running,
  keys: readonly Key[],
  work: (tx: Tx, buffered: readonly Event[]) => Promise<T>,
): Promise<T> {
  const buffered = running.buffer
  running.buffer = []
  running.answerBuffered = false
  let refused: unknown
  const watched = async (tx: Tx): Promise<T> => {
    try {
      return await work(tx, buffered)
    } catch (error) {
      refused = error
      throw error
    }
  }
  try {
    return await runtime.store.transact(keys, watched)
  } catch (error) {
    if (error !== refused && !(error instanceof AppendFault)) throw abandon(runtime, running, error)
    running.buffer = [...buffered, ...running.buffer]
    running.answerBuffered = true
    throw error
  }
}

function abandon(runtime: Runtime, running: Running, cause: unknown): Fenced {
  const fenced = new Fenced(`it is not known whether the last commit of ${running.row.id} was made`, {
    cause,
  })
  runtime.brokenOff.add(running.row.session)
  running.abort.abort(fenced)
  for (const tell of runtime.unrecordedWaiters.get(running.row.id) ?? []) tell(fenced)
  return fenced
}

/** How long the turn may still run: its own limit, and that of the call which it serves. */
export const timeLeft = (runtime: Runtime, { row }: Running): Millis =>
  Math.min(
    msLeft(runtime, row.id, row.deadline),
    row.call === null ? Infinity : msLeft(runtime, row.call.id, row.call.deadline),
  )

/** Makes durable what waits in the buffer, together with `more`. */
export async function flush(runtime: Runtime, running: Running, more: readonly Event[] = []): Promise<void> {
  await commit(runtime, running, [`session:${running.row.session}`], async (tx, buffered) => {
    const { stopping } = assertOurs(await tx.activation(running.row.id), running, runtime)
    // Nothing is begun for a turn that was told to stop, also where it has not heard of it yet.
    if (stopping !== null) throw new Stopped(stopping)
    tx.append(...buffered, ...more)
  })
}

/** The row as the commit just left it, so that nothing has to be read back. */
export function toTurnRow(
  input: Running['input'],
  started: EventOf<'turn.started'>,
  openedAt: Millis,
): TurnRow {
  const isCall = input.type === 'call.opened'
  return {
    id: started.turn as TurnId,
    session: started.session,
    flow: input.flow,
    state: 'running',
    call: isCall
      ? {
          id: input.call,
          caller: input.session,
          callerTurn: input.turn as TurnId,
          pending: true,
          outcome: null,
          background: input.background,
          deadline: input.deadline,
          key: input.key,
        }
      : null,
    grant: input.grant,
    node: started.node,
    epoch: started.epoch,
    deadline: started.deadline,
    stopping: null,
    openedAt,
    openedSeq: 0,
    endedSeq: null,
    tokensUsed: 0,
    tokensBelow: 0,
  }
}

/** The end of a call below is counted once, whoever hears of it first. */
export function settleBelow(caller: Running, ended: EventOf<'call.ended'>): void {
  if (caller.settled.has(ended.call)) return
  caller.settled.add(ended.call)
  caller.pendingBelow -= 1
  caller.tokensBelow += ended.tokensUsed
}
