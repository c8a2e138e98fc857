/** Rows of the views as the rules see them. */
import type { StatementSync } from 'node:sqlite'
import type { Entry } from '../model/context.ts'
import type { Grant, Outcome, SessionKind } from '../model/event.ts'
import type { SessionRow, TurnRow, TurnState } from '../model/facts.ts'
import { callOf, type FlowId, type NodeId, type SessionId, type TurnId } from '../model/id.ts'

/** Columns as SQLite gives them, by name. */
export type Raw = Record<string, string | number | null>
/** Columns by place: the hot statements return arrays, which cost a third of objects with names. */
export type RawArray = (string | number | null)[]

export const turnColumns = [
  'id', 'session', 'flow', 'state', 'granted', 'caller', 'caller_turn', 'pending', 'outcome', 'background', 'call_deadline', 'key',
  'node', 'epoch', 'deadline', 'stopping', 'opened_at', 'opened_seq', 'ended_seq', 'tokens_used', 'tokens_below',
] as const
export const sessionColumns = ['id', 'agent', 'kind', 'parent', 'cwd', 'title', 'created_at', 'archived', 'entries', 'summary', 'summary_entries'] as const

/** A session's entries are numbered without gaps, so the last number is their count. */
const counted = (alias: string): string => `coalesce((select max(n) from entries where session = ${alias}.id), 0)`

export const selected = (alias: string, columns: readonly string[]): string => columns.map((name) => (name === 'entries' ? counted(alias) : `${alias}.${name}`)).join(', ')

/** The grant of one turn is read several times: parsing its text once is enough. */
const grants = new Map<string, Grant>()
const grantsMax = 4096

function grantOf(text: string): Grant {
  const known = grants.get(text)
  if (known !== undefined) return known
  const grant = JSON.parse(text) as Grant
  if (grants.size >= grantsMax) grants.clear()
  grants.set(text, grant)
  return grant
}

/** A turn from the columns of `turnColumns`, which start at `from`. */
export function turnAt(raw: RawArray, from: number): TurnRow {
  const id = raw[from] as TurnId
  return {
    id, session: raw[from + 1] as SessionId, flow: raw[from + 2] as FlowId, state: raw[from + 3] as TurnState,
    call: raw[from + 5] === null ? null : {
      id: callOf(id), caller: raw[from + 5] as SessionId, callerTurn: raw[from + 6] as TurnId, pending: raw[from + 7] === 1,
      outcome: raw[from + 8] as Outcome | null, background: raw[from + 9] === 1, deadline: raw[from + 10] as number, key: raw[from + 11] as string,
    },
    grant: grantOf(raw[from + 4] as string), node: raw[from + 12] as NodeId | null, epoch: raw[from + 13] as number, deadline: raw[from + 14] as number,
    stopping: raw[from + 15] as Outcome | null, openedAt: raw[from + 16] as number, openedSeq: raw[from + 17] as number, endedSeq: raw[from + 18] as number | null,
    tokensUsed: raw[from + 19] as number, tokensBelow: raw[from + 20] as number,
  }
}

/** A session from the columns of `sessionColumns`, which start at `from`. */
export const sessionAt = (raw: RawArray, from: number): SessionRow => ({
  id: raw[from] as SessionId, agent: raw[from + 1] as string, kind: raw[from + 2] as SessionKind, parent: raw[from + 3] as SessionId | null, cwd: raw[from + 4] as string,
  title: raw[from + 5] as string, createdAt: raw[from + 6] as number, archived: raw[from + 7] === 1, entries: raw[from + 8] as number,
  summary: raw[from + 9] as string | null, summaryEntries: raw[from + 10] as number,
})

/** A statement whose rows come as arrays. */
export function arrays(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true)
  return statement
}

export const entryOfRaw = (raw: Raw): Entry => ({
  n: raw['n'] as number, role: raw['role'] as Entry['role'], at: raw['at'] as number, text: raw['text'] as string, tokens: raw['tokens'] as number, from: raw['sender'] as string | null,
  turn: raw['turn'] as string, hasSteps: raw['has_steps'] === 1, steps: null,
})
