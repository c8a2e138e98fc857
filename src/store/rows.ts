/** Rows of the views as the rules see them. */
import type { Entry } from '../model/context.ts'
import type { Grant, Outcome, SessionKind } from '../model/event.ts'
import type { SessionRow, TurnRow, TurnState } from '../model/facts.ts'
import { callOf, type FlowId, type NodeId, type SessionId, type TurnId } from '../model/id.ts'

/** Columns as SQLite gives them. */
export type Raw = Record<string, string | number | null>

export const turnColumns = [
  'id', 'session', 'flow', 'state', 'granted', 'caller', 'caller_turn', 'pending', 'outcome', 'background', 'call_deadline', 'key',
  'node', 'epoch', 'deadline', 'stopping', 'opened_at', 'opened_seq', 'ended_seq', 'tokens_used', 'tokens_below',
] as const
export const sessionColumns = ['id', 'agent', 'kind', 'parent', 'cwd', 'title', 'created_at', 'archived', 'entries', 'summary', 'summary_entries'] as const

/** `t.id as t_id, …`: so that two rows can come from one statement. */
export const selected = (alias: string, columns: readonly string[]): string => columns.map((name) => `${alias}.${name} as ${alias}_${name}`).join(', ')

/** A grant never changes, and one turn is read several times: parsing it once is enough. */
const grants = new Map<string, Grant>()
const grantsMax = 4096

function grantOf(id: string, text: string): Grant {
  const key = `${id}${text}`
  const known = grants.get(key)
  if (known !== undefined) return known
  const grant = JSON.parse(text) as Grant
  if (grants.size >= grantsMax) grants.clear()
  grants.set(key, grant)
  return grant
}

export function turnOfRaw(raw: Raw, alias: string): TurnRow {
  const at = (name: string): string | number | null => raw[`${alias}_${name}`] ?? null
  const id = at('id') as TurnId
  return {
    id, session: at('session') as SessionId, flow: at('flow') as FlowId, state: at('state') as TurnState,
    call: at('caller') === null ? null : {
      id: callOf(id), caller: at('caller') as SessionId, callerTurn: at('caller_turn') as TurnId, pending: at('pending') === 1,
      outcome: at('outcome') as Outcome | null, background: at('background') === 1, deadline: at('call_deadline') as number, key: at('key') as string,
    },
    grant: grantOf(id, at('granted') as string), node: at('node') as NodeId | null, epoch: at('epoch') as number, deadline: at('deadline') as number,
    stopping: at('stopping') as Outcome | null, openedAt: at('opened_at') as number, openedSeq: at('opened_seq') as number, endedSeq: at('ended_seq') as number | null,
    tokensUsed: at('tokens_used') as number, tokensBelow: at('tokens_below') as number,
  }
}

export function sessionOfRaw(raw: Raw, alias: string): SessionRow {
  const at = (name: string): string | number | null => raw[`${alias}_${name}`] ?? null
  return {
    id: at('id') as SessionId, agent: at('agent') as string, kind: at('kind') as SessionKind, parent: at('parent') as SessionId | null, cwd: at('cwd') as string,
    title: at('title') as string, createdAt: at('created_at') as number, archived: at('archived') === 1, entries: at('entries') as number,
    summary: at('summary') as string | null, summaryEntries: at('summary_entries') as number,
  }
}

export const entryOfRaw = (raw: Raw, withSteps: boolean): Entry => ({
  n: raw['n'] as number, role: raw['role'] as Entry['role'], at: raw['at'] as number, text: raw['text'] as string, tokens: raw['tokens'] as number, from: raw['sender'] as string | null,
  steps: withSteps ? (raw['steps'] as string | null) : null, stepTokens: withSteps ? (raw['step_tokens'] as number) : 0,
})
