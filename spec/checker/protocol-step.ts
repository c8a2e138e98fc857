/** One step of the call protocol: what it records, and what it changes in the memory of nodes. */
import type { TurnResult } from '../../src/model/end.ts'
import type { Event, Outcome } from '../../src/model/event.ts'
import { belowFacts, makeLimits, nodeId, nowMs, sessionId, turnFacts, turnId } from './facts.ts'
import { fold } from './fold.ts'
import type { Rules } from './rules.ts'
import {
  listTurns,
  getRow,
  sameDriver,
  getSession,
  sortSet,
  type Driver,
  type Options,
  type State,
} from './state.ts'

/** `events` is what the step appends to the log; a step of memory alone appends nothing. */
export type ProtocolStep = {
  readonly action: string
  readonly next: State
  readonly events: readonly Event[]
}

export type World = { options: Options; rules: Rules; agents: string[]; nodes: string[] }

export const leave = (state: State, driver: Driver): State => ({
  ...state,
  run: state.run.filter((other) => !sameDriver(other, driver)),
  seen: state.seen.filter((other) => !sameDriver(other, driver)),
})

/** A node has one entry for a turn: a second driver of the same turn takes the place of the first. */
const see = (state: State, driver: Driver): readonly Driver[] =>
  sortSet([...state.seen.filter((other) => other[0] !== driver[0] || other[1] !== driver[1]), driver])

export const enter = (state: State, driver: Driver): State => ({
  ...state,
  run: sortSet([...state.run, driver]),
  seen: see(state, driver),
})

/** It records the end of a turn and does nothing else. */
export const enterEnder = (state: State, ender: Driver): State => ({ ...state, seen: see(state, ender) })

export const isIdle = ({ options }: World, state: State, session: string): boolean =>
  !options.OneTurn ||
  !listTurns(state).some((id) => getRow(state, id).st !== 'ended' && getSession(state, id) === session)

export const startTurn = (turn: number, session: string, node: string): Event => ({
  type: 'turn.started',
  session: sessionId(session),
  turn: turnId(turn),
  node: nodeId(node),
  epoch: 1,
  deadline: 0,
})

/** Waits that nobody keeps in memory any more are forgotten with their turn. */
export const forgetWaits = (state: State, turn: number): State => ({
  ...state,
  aw: state.aw.filter((id) => getRow(state, id).par !== turn),
})

export function record(
  { options }: World,
  state: State,
  action: string,
  events: readonly Event[],
  memory: (next: State) => State = (next) => next,
): ProtocolStep {
  const folded = fold(options, state, events)
  const ended = listTurns(state).filter(
    (id) => getRow(state, id).st === 'running' && getRow(folded, id).st === 'ended',
  )
  return { action, events, next: memory(ended.reduce(forgetWaits, folded)) }
}

/**
 * The end of a running turn, recorded by a node; what waits behind it starts there in the same step (R12).
 */
export function recordEnd(
  world: World,
  state: State,
  action: string,
  node: string,
  turn: number,
  outcome: Outcome,
  memory: (next: State) => State = (next) => next,
): ProtocolStep {
  const events = endTurn(world, state, turn, outcome)
  const session = getSession(state, turn)
  const folded = fold(world.options, state, events)
  const next = listTurns(folded).find(
    (id) => getRow(folded, id).st === 'queued' && getSession(folded, id) === session,
  )
  if (!world.options.StartNext || next === undefined) return record(world, state, action, events, memory)
  return record(world, state, action, [...events, startTurn(next, session, node)], (after) =>
    enter(memory(after), [node, next, 1]),
  )
}

export const noProgress = (): undefined => undefined

export function endTurn(world: World, state: State, turn: number, outcome: Outcome): readonly Event[] {
  const { options, rules } = world
  const { used, below } = getRow(state, turn)
  const result: TurnResult = {
    outcome,
    output: 'x',
    error: null,
    iterations: 1,
    toolCalls: [],
    tokensUsed: used,
    tokensBelow: below,
    entry: null,
  }
  return rules.endTurn(
    turnFacts(options, state, turn),
    belowFacts(options, state, turn),
    result,
    noProgress,
    nowMs,
    makeLimits(options),
  )
}
