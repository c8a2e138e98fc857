/** The abstract state of the call protocol: the variables of `calls/Calls.tla`, row by row. */
import type { Outcome } from '../../src/model/event.ts'

export type Row = {
  readonly st: 'queued' | 'running' | 'ended'
  /** An agent for its persistent session; null where the call made a session of its own. */
  readonly ses: string | null
  readonly path: readonly string[]
  readonly par: number
  readonly bg: boolean
  readonly key: number
  readonly call: 'none' | 'pending' | Outcome
  readonly ends: number
  readonly stop: 'no' | Outcome
  readonly node: string | null
  readonly epoch: number
  readonly max: number
  readonly used: number
  readonly below: number
  readonly pos: number
}

/** A driver at work: node, turn, epoch. */
export type Driver = readonly [node: string, turn: number, epoch: number]

export type State = {
  /** Turns are numbered from 1; row 1 is `rows[0]`. */
  readonly rows: readonly Row[]
  readonly waits: readonly number[]
  readonly run: readonly Driver[]
  readonly seen: readonly Driver[]
  readonly aw: readonly number[]
  readonly down: readonly string[]
  readonly lapsed: readonly string[]
  readonly faults: number
  readonly torn: boolean
}

export type Kind = 'fresh' | 'kept' | 'background'
export type Fault = 'crash' | 'lapse' | 'forget'

/** TRUE is the protocol; each one switched off is a mutant. */
export const guards = {
  CheckCycle: true,
  CheckDepth: true,
  CheckGraph: true,
  OwnPending: true,
  OneTurn: true,
  Fence: true,
  EndBelow: true,
  FirstWins: true,
  KeepHold: true,
  Recall: true,
  OwnWaits: true,
  OwnEntry: true,
  Adopt: true,
  StartNext: true,
} as const satisfies Record<string, boolean>
export type Guard = keyof typeof guards
export type Guards = Record<Guard, boolean>

export type Options = Guards & {
  agents: number
  nodes: number
  turnsMax: number
  rootsMax: number
  depthMax: number
  /** Zero is no budget. */
  budget: number
  faultsMax: number
  epochMax: number
  faults: readonly Fault[]
  kinds: readonly Kind[]
  timeouts: boolean
  cancels: boolean
}

export const optionsPlain: Options = {
  ...guards,
  agents: 2,
  nodes: 1,
  turnsMax: 3,
  rootsMax: 1,
  depthMax: 2,
  budget: 0,
  faultsMax: 0,
  epochMax: 1,
  faults: [],
  kinds: ['fresh', 'kept'],
  timeouts: true,
  cancels: true,
}

export const initialState: State = {
  rows: [],
  waits: [],
  run: [],
  seen: [],
  aw: [],
  down: [],
  lapsed: [],
  faults: 0,
  torn: false,
}

export const makeNames = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`)

export const getRow = (state: State, turn: number): Row => {
  const row = state.rows[turn - 1]
  if (row === undefined) throw new Error(`there is no turn ${turn}`)
  return row
}

/** The session of a turn: an agent's own, or one that its call made. */
export const getSession = (state: State, turn: number): string => getRow(state, turn).ses ?? `e${turn}`

export const listTurns = (state: State): number[] => state.rows.map((_, index) => index + 1)

export const listChildren = (state: State, turn: number): number[] =>
  listTurns(state).filter((id) => getRow(state, id).par === turn)

export const findRoot = (state: State, turn: number): number => {
  const { par } = getRow(state, turn)
  return par === 0 ? turn : findRoot(state, par)
}

export const isOurs = (state: State, [node, turn, epoch]: Driver): boolean => {
  const row = getRow(state, turn)
  return row.st === 'running' && row.node === node && row.epoch === epoch
}

export const sameDriver = (a: Driver, b: Driver): boolean => a[0] === b[0] && a[1] === b[1] && a[2] === b[2]

/** Sets are kept sorted, so that equal states have equal keys. */
export const sortSet = <T>(items: readonly T[]): T[] =>
  [...items].sort((a, b) => (String(a) < String(b) ? -1 : 1))

export const edit = (state: State, turn: number, change: Partial<Row>): State => ({
  ...state,
  rows: state.rows.map((row, index) => (index === turn - 1 ? { ...row, ...change } : row)),
})

export const makeKey = (state: State): string =>
  JSON.stringify([
    state.rows.map((row) => Object.values(row)),
    state.waits,
    state.run,
    state.seen,
    state.aw,
    state.down,
    state.lapsed,
    state.faults,
    state.torn,
  ])

/** They have taken a turn that was told to stop, only to end it. */
export const listEnders = (state: State): readonly Driver[] =>
  state.seen.filter((one) => !state.run.some((driver) => sameDriver(driver, one)))
