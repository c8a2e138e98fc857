/**
 * One turn whose driver runs here: what it has said, used and not yet recorded.
 * Results of effects that may be repeated wait in `buffer` for the turn's next commit; nothing outside has
 * seen them as done.
 */
import type { Agent } from '../../model/agent.ts'
import { boundUsage } from '../../model/bound-usage.ts'
import type { Event, EventOf, Opening, Outcome, Usage } from '../../model/event.ts'
import type { Activation, SessionRow, TurnFacts, TurnRow } from '../../model/facts.ts'
import type { Progress } from '../../model/end.ts'
import type { Moved } from '../../model/fallback.ts'
import type { CallId, Millis, SessionId } from '../../model/id.ts'
import { answerUnitsMax } from '../../model/limits.ts'
import { addSpent, nothingSpent, readSpent, recalledSpent, type Spent } from '../../model/money.ts'
import { tailUnits } from '../../model/text.ts'
import { msLeft } from './kept-time.ts'
import type { Runtime } from './runtime.ts'
import { type Acts, type Tool } from './ports.ts'
import type { Recorded } from './recorded.ts'
import type { Delta } from '../../wire/log.ts'

/** `begun`: its events are taken. `held`: text that is shown when they are durable, or null when that is over. */
export type Flushing = { begun: boolean; held: (() => void)[] | null; done: Promise<void> }

export type Running = {
  readonly row: TurnRow
  readonly session: SessionRow
  /** What runs the turn: its own, or one that took its place. */
  agent: Agent
  moved: Moved | null
  readonly epoch: number
  readonly input: Opening
  readonly abort: AbortController
  readonly acts: Acts
  tools: ReadonlyMap<string, Tool>
  recorded: Recorded | null
  buffer: Event[]
  /** Commits that are under way: parallel tools have some of their own. */
  readonly commits: Set<Promise<unknown>>
  /**
   * Whether `buffer` holds a model's answer: it is written while the next request is under way, and the one
   * after that waits for it, so that a crash repeats two at most.
   */
  answerBuffered: boolean
  /** The last time that the buffer was written while the turn went on. */
  flushing: Flushing | null
  said: string
  /** What stands in the way of the step under way; empty where nothing does. It is not recorded. */
  remark: string
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
  /** The same in money: its own, that of calls that have ended, and what the row had below it. */
  spent: Spent
  spentBelow: Spent
  nanoUsdTaken: number
  /** Gives back what the request under way holds of the day's budget. */
  release: (() => void) | null
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
  /** What a request that is under way has used so far, estimated; null where none is. */
  asking: (() => Usage) | null
  /** Calls that this activation opened and has not seen end; a recovered one may have older ones. */
  pendingBelow: number
  /** Calls whose end was seen. */
  readonly settled: Set<CallId>
  toolsRunning: number
  /** When the turn last did something, on the clock that only passes. */
  progressAt: Millis
  /** Whether a program with the token of this turn has reached this server. */
  reached: boolean
  /** What was seen of an agent with its own loop is being recorded. */
  keeping: Promise<void> | null
  readonly steering: {
    /** Something may be in the log that the turn was not given. */
    looks: boolean
    /** The words that this run was given, by their numbers in the log. */
    readonly given: Set<number>
    /** Settles when the words that are being given to the agent were. */
    giving: Promise<unknown>
    /** The word that the agent was asked to take and has not answered to. */
    unsure: number | null
    /** Words that are just being recorded, or given to the agent. */
    coming: number
    /** Its driver takes words. */
    isTaking: boolean
    /** The turn is about to end: no word is accepted. */
    isClosed: boolean
    /** Gives one to an agent that can take it in the middle. */
    hear: ((text: string) => Promise<boolean>) | null
  }
  /** Its driver has answered: from now on nothing is recorded but the end, which takes along what is in the buffer. */
  isEnding: boolean
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
    commits: new Set(),
    answerBuffered: false,
    flushing: null,
    said: '',
    remark: '',
    step: 0,
    stepOffset: 0,
    answeredOffset: 0,
    tokensUsed: 0,
    tokensBelow: 0,
    tokensTaken: row.tokensBelow,
    spent: nothingSpent,
    spentBelow: nothingSpent,
    nanoUsdTaken: row.nanoUsdBelow,
    release: null,
    moved: null,
    begun: new Map(),
    waits: new Map(),
    summary: null,
    toolCalls: new Set(),
    iterations: 0,
    asking: null,
    pendingBelow: 0,
    settled: new Set(),
    toolsRunning: 0,
    progressAt: row.openedAt,
    reached: false,
    keeping: null,
    steering: {
      looks: false,
      given: new Set(),
      giving: Promise.resolve(),
      unsure: null,
      coming: 0,
      isTaking: false,
      isClosed: false,
      hear: null,
    },
    isEnding: false,
    stopAs: null,
  }
  return Object.assign(running, { acts: acts(running as Running) })
}

export const turnProgress = (running: Running): Progress => ({
  output: tailUnits(running.said, answerUnitsMax),
  ...countSpent(running),
  tokensBelow: running.tokensBelow,
  spentBelow: running.spentBelow,
  toolCalls: [...running.toolCalls],
  iterations: running.iterations,
  ...(running.moved === null ? {} : { moved: running.moved }),
})

/** The end of a turn for whoever waits here, before it is recorded or where it cannot be. */
export function unrecordedEnd(running: Running, outcome: Outcome, error: string): EventOf<'turn.ended'> {
  const { spent: _own, spentBelow: _below, ...progress } = turnProgress(running)
  return {
    type: 'turn.ended',
    session: running.row.session,
    turn: running.row.id,
    outcome,
    error,
    ...progress,
    toolCalls: [...running.toolCalls],
    entry: null,
  }
}

/** A request that is aborted has cost what it had sent and received. */
export function countSpent({ tokensUsed, spent, asking }: Running): { tokensUsed: number; spent: Spent } {
  const said = asking?.() ?? null
  if (said === null) return { tokensUsed, spent }
  const usage = boundUsage(said)
  return { tokensUsed: tokensUsed + usage.input + usage.output, spent: addSpent(spent, readSpent(usage)) }
}

const tailCharsMax = 200_000

/**
 * What its step has said so far and no event tells yet, for whoever comes in the middle of it; null where
 * there is nothing. Of a very long text the end.
 */
export function createSaying(running: Running): Delta | null {
  const { row, epoch, step, said, stepOffset, remark } = running
  const from = Math.max(running.answerBuffered ? 0 : running.answeredOffset, stepOffset - tailCharsMax)
  return from >= stepOffset && remark === ''
    ? null
    : {
        session: row.session,
        turn: row.id,
        epoch,
        step,
        offset: from,
        text: said.slice(said.length - stepOffset + from),
        ...(remark === '' ? {} : { remark }),
      }
}

/** The whole row, from what was fixed when the turn opened and what has changed since. */
export function currentFacts(
  running: Running,
  { pending, outcome, state, node, epoch, stopping, tokensBelow, nanoUsdBelow }: Activation,
): TurnFacts {
  const call = running.row.call === null ? null : { ...running.row.call, pending, outcome }
  return {
    turn: {
      ...running.row,
      state,
      node,
      epoch,
      stopping,
      call,
      tokensBelow,
      nanoUsdBelow,
      tokensUsed: running.tokensUsed,
      spent: running.spent,
    },
    session: running.session,
  }
}

/** Ends with the turn; and when whoever asked for something in it is gone, where somebody may go away. */
export const joinSignals = ({ abort }: Running, gone?: AbortSignal): AbortSignal =>
  gone === undefined ? abort.signal : AbortSignal.any([abort.signal, gone])

/** How long the turn may still run: its own limit, and that of the call which it serves. */
export const timeLeft = (runtime: Runtime, { row }: Running): Millis =>
  Math.min(
    msLeft(runtime, row.id, row.deadline),
    row.call === null ? Infinity : msLeft(runtime, row.call.id, row.call.deadline),
  )

/** The end of a call below is counted once, whoever hears of it first. */
export function settleBelow(caller: Running, ended: EventOf<'call.ended'>): void {
  if (caller.settled.has(ended.call)) return
  caller.settled.add(ended.call)
  caller.pendingBelow -= 1
  caller.tokensBelow += ended.tokensUsed
  caller.spentBelow = addSpent(caller.spentBelow, recalledSpent(ended.spent, ended.tokensUsed))
}
