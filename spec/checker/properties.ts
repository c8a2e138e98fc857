/** What must hold, with the names of `calls/Properties.tla`. */
import { waitsFor } from './facts.ts'
import type { LeadsTo } from './search.ts'
import {
  listEnders,
  listTurns,
  isOurs,
  listChildren,
  findRoot,
  getRow,
  sameDriver,
  getSession,
  type Options,
  type State,
} from './state.ts'

type Invariant = (state: State) => boolean

const all = (state: State, holds: (turn: number) => boolean): boolean => listTurns(state).every(holds)
const isEnding = (call: string): boolean => call !== 'none' && call !== 'pending'

/** R5, as it really is: who is blocked by whom. */
function inRing(state: State, session: string): boolean {
  const reached = new Set<string>()
  const todo = [session]
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    for (const next of waitsFor(state, at, (id, row) => !row.bg || state.aw.includes(id), [])) {
      if (next === session) return true
      if (!reached.has(next)) todo.push(next)
      reached.add(next)
    }
  }
  return false
}

export const makeInvariants = (options: Options): Record<string, Invariant> => ({
  NoCycle: (state) =>
    all(state, (id) => new Set(getRow(state, id).path).size === getRow(state, id).path.length),
  NoDeadlock: (state) => all(state, (id) => !inRing(state, getSession(state, id))),
  WaitsRecorded: (state) =>
    state.aw.every((id) => getRow(state, id).call !== 'pending' || state.waits.includes(id)),
  SingleActivationDuringCall: (state) => {
    const running = listTurns(state).filter((id) => getRow(state, id).st === 'running')
    return (
      new Set(running.map((id) => getSession(state, id))).size === running.length &&
      running.every(
        (id) =>
          [...state.run, ...listEnders(state)].filter((driver) => driver[1] === id && isOurs(state, driver))
            .length <= 1,
      )
    )
  },
  NoStaleCommit: (state) => !state.torn,
  DepthBounded: (state) => all(state, (id) => getRow(state, id).path.length - 1 <= options.depthMax),
  NoOrphan: (state) =>
    all(state, (id) => {
      const row = getRow(state, id)
      if (row.call !== 'pending') return true
      const caller = getRow(state, row.par)
      return caller.st === 'running' && caller.stop === 'no' && !isEnding(caller.call)
    }),
  EndsOnce: (state) =>
    all(state, (id) => getRow(state, id).ends === (isEnding(getRow(state, id).call) ? 1 : 0)),
  NothingAfterEnd: (state) =>
    all(state, (id) => getRow(state, id).st !== 'ended' || getRow(state, id).call !== 'pending'),
  NoDouble: (state) =>
    all(
      state,
      (id) =>
        new Set(listChildren(state, id).map((kid) => getRow(state, kid).key)).size ===
        listChildren(state, id).length,
    ),
  WorkConserved: (state) =>
    all(
      state,
      (id) =>
        getRow(state, id).st !== 'queued' ||
        listTurns(state).some(
          (other) =>
            getRow(state, other).st === 'running' && getSession(state, other) === getSession(state, id),
        ),
    ),
  CanBeTold: (state) =>
    state.run.every(
      (driver) => !isOurs(state, driver) || state.seen.some((other) => sameDriver(other, driver)),
    ),
  BudgetKept: (state) =>
    all(
      state,
      (root) =>
        listTurns(state)
          .filter((id) => findRoot(state, id) === root)
          .reduce((sum, id) => sum + getRow(state, id).used, 0) <= options.budget,
    ),
  HoldKept: (state) =>
    all(state, (id) => getRow(state, id).used + getRow(state, id).below <= getRow(state, id).max),
})

/** R4 by deadlines alone, R4 for turns that were told to stop, R12 by sweeps alone, and quiescence. */
export const makeLeadsTo = (
  options: Options,
): Record<
  'CallEventuallyCompletes' | 'StoppedTurnEnds' | 'QueuedEventuallyStarts' | 'EverythingRests',
  LeadsTo<State>[]
> => {
  const turns = Array.from({ length: options.turnsMax }, (_, index) => index + 1)
  const row = (state: State, turn: number) => state.rows[turn - 1]
  const each = (
    name: string,
    from: (state: State, turn: number) => boolean,
    to: (state: State, turn: number) => boolean,
  ): LeadsTo<State>[] =>
    turns.map((turn) => ({ name, from: (state) => from(state, turn), to: (state) => to(state, turn) }))
  return {
    CallEventuallyCompletes: each(
      'CallEventuallyCompletes',
      (state, turn) => row(state, turn)?.call === 'pending',
      (state, turn) => isEnding(row(state, turn)?.call ?? 'none'),
    ),
    StoppedTurnEnds: each(
      'StoppedTurnEnds',
      (state, turn) => row(state, turn)?.st === 'running' && row(state, turn)?.stop !== 'no',
      (state, turn) => row(state, turn)?.st === 'ended',
    ),
    QueuedEventuallyStarts: each(
      'QueuedEventuallyStarts',
      (state, turn) =>
        row(state, turn)?.st === 'queued' &&
        !listTurns(state).some(
          (other) =>
            getRow(state, other).st === 'running' && getSession(state, other) === getSession(state, turn),
        ),
      (state, turn) => row(state, turn)?.st !== 'queued',
    ),
    EverythingRests: each(
      'EverythingRests',
      (state, turn) => row(state, turn) !== undefined,
      (state, turn) => row(state, turn)?.st === 'ended',
    ),
  }
}

/**
 * Deadlines need only somebody's clock; stopping needs a sweep and drivers that stop when told; rest needs
 * drivers that come to an end.
 */
export const fairness = {
  none: /^$/,
  clock: /^Expire/,
  sweep: /^(Stop|Claim|Takeover|Oust|Orphan|Lapse|Beat)/,
  work: /^(Stop|Claim|Takeover|Oust|Orphan|Lapse|Beat|Finish)/,
  all: /^(Expire|Stop|Claim|Takeover|Oust|Orphan|Lapse|Beat|Finish)/,
} as const
