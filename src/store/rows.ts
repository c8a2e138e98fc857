/** Rows of the views as the rules see them. */
import assert from 'node:assert/strict'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Entry } from '../model/context.ts'
import type { Grant, Outcome, SessionKind } from '../model/event.ts'
import type { SessionRow, TurnRow, TurnState } from '../model/facts.ts'
import { toCallId, type FlowId, type NodeId, type SessionId, type TurnId } from '../model/id.ts'
import { movedRows } from './archive/moved-rows.ts'
import { parseEvents, prepareFindEvent } from './log-row.ts'

/** Columns by place: the hot statements return arrays, which cost a third of objects with names. */
export type RawArray = (string | number | null)[]

export const turnColumns = (
  'id session flow state caller caller_turn pending outcome background call_deadline key node epoch ' +
  'deadline stopping opened_at opened_seq ended_seq tokens_used tokens_below ' +
  'spent spent_plan unpriced usd_below'
).split(' ')
export const sessionColumns =
  'id agent kind parent cwd title created_at archived entries summary summary_entries model'.split(' ')

/** Entries are numbered without gaps, so the last number is their count; a fork continues the numbers. */
const counted = (alias: string): string =>
  `coalesce((select max(n) from entries where session = ${alias}.id), ${alias}.fork_n)`

export const selected = (alias: string, columns: readonly string[]): string =>
  columns.map((name) => (name === 'entries' ? counted(alias) : `${alias}.${name}`)).join(', ')

/** Grants stand in the event that opened a turn, and never change. */
export type Grants = (openedSeq: number) => Grant
const grantsMax = 4096

export function parseGrants(db: DatabaseSync): Grants {
  // Where its row cannot be read, nobody knows what a turn may do: that is an error of its own flow.
  const find = prepareFindEvent(db, parseEvents, (seq) => movedRows(db).find(seq))
  const known = new Map<number, Grant>()
  return (openedSeq) => {
    let grant = known.get(openedSeq)
    if (grant !== undefined) return grant
    const event = find(openedSeq)?.event
    assert(event !== undefined && 'grant' in event, `no turn was opened at ${openedSeq}`)
    grant = event.grant
    if (known.size >= grantsMax) known.clear()
    known.set(openedSeq, grant)
    return grant
  }
}

/** A turn from the columns of `turnColumns`, which start at `from`. Its grant is looked up when it is read. */
export function turnAt(raw: RawArray, from: number, grants: Grants): TurnRow {
  const id = raw[from] as TurnId
  const openedSeq = raw[from + 16] as number
  return {
    id,
    session: raw[from + 1] as SessionId,
    flow: raw[from + 2] as FlowId,
    state: raw[from + 3] as TurnState,
    call:
      raw[from + 4] === null
        ? null
        : {
            id: toCallId(id),
            caller: raw[from + 4] as SessionId,
            callerTurn: raw[from + 5] as TurnId,
            pending: raw[from + 6] === 1,
            outcome: raw[from + 7] as Outcome | null,
            background: raw[from + 8] === 1,
            deadline: raw[from + 9] as number,
            key: raw[from + 10] as string,
          },
    get grant() {
      return grants(openedSeq)
    },
    node: raw[from + 11] as NodeId | null,
    epoch: raw[from + 12] as number,
    deadline: raw[from + 13] as number,
    stopping: raw[from + 14] as Outcome | null,
    openedAt: raw[from + 15] as number,
    openedSeq,
    endedSeq: raw[from + 17] as number | null,
    tokensUsed: raw[from + 18] as number,
    tokensBelow: raw[from + 19] as number,
    spent: {
      nanoUsd: raw[from + 20] as number,
      plan: raw[from + 21] as number,
      unpriced: (raw[from + 22] ?? raw[from + 18]) as number,
    },
    nanoUsdBelow: raw[from + 23] as number,
  }
}

/** A session from the columns of `sessionColumns`, which start at `from`. */
export const sessionAt = (raw: RawArray, from: number): SessionRow => ({
  id: raw[from] as SessionId,
  agent: raw[from + 1] as string,
  kind: raw[from + 2] as SessionKind,
  parent: raw[from + 3] as SessionId | null,
  cwd: raw[from + 4] as string,
  title: raw[from + 5] as string,
  createdAt: raw[from + 6] as number,
  archived: (raw[from + 7] ?? false) as SessionRow['archived'],
  entries: raw[from + 8] as number,
  summary: raw[from + 9] as string | null,
  summaryEntries: raw[from + 10] as number,
  model: raw[from + 11] as string | null,
})

/**
 * A statement whose rows come as arrays. Limits are written `limit +?`: after a bare `limit ?` is bound,
 * SQLite prepares the statement again, which costs more than most of them.
 */
export function arrays(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true)
  return statement
}

export const entryColumns = 'e.n, e.role, e.at, e.text, e.tokens, e.sender, e.turn, e.has_steps'

/** An entry from the columns of `entryColumns`. */
export const entryAt = (raw: RawArray): Entry => ({
  n: raw[0] as number,
  role: raw[1] as Entry['role'],
  at: raw[2] as number,
  text: raw[3] as string,
  tokens: raw[4] as number,
  from: raw[5] as string | null,
  turn: raw[6] as string,
  hasSteps: raw[7] === 1,
  steps: null,
})

/** Prepares statements once for each connection. */
export function prepareOnce<T>(prepare: (db: DatabaseSync) => T): (db: DatabaseSync) => T {
  const prepared = new WeakMap<DatabaseSync, T>()
  return (db) => {
    let known = prepared.get(db)
    if (known === undefined) prepared.set(db, (known = prepare(db)))
    return known
  }
}
