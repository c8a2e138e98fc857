/** A user's input to a session: the root of a flow. Recorded, and started at once where the session rests. */
import type { Agent } from '../model/agent.ts'
import { fullAuthority } from '../model/authority.ts'
import type { Event, EventOf, Grant } from '../model/event.ts'
import type { SessionFacts, SessionRow } from '../model/facts.ts'
import type { FlowId, SessionId, TurnId } from '../model/id.ts'
import { iterationsDefault, iterationsMax } from '../model/limits.ts'
import { badInput, type Refusal } from '../model/refusal.ts'
import { byteLength } from '../model/text.ts'
import { starting, type Line } from './line.ts'
import { turnRowOf } from './running.ts'

export type Sent = { message: string; session: SessionId; turn: TurnId; flow: FlowId; status: 'dispatched' | 'queued' }
export type SendRequest = {
  /** An existing session, or an agent for a new one. */
  to: { session: SessionId } | { agent: string; cwd: string; title?: string }
  text: string
  timeoutMs?: number | undefined
  maxTokens?: number | undefined
}

/** A session that is made now: its id is new, so there is nothing to look for. */
const nothingYet: SessionFacts = { session: null, running: null, runnerAlive: false, queued: 0, next: null }

export async function send(line: Line, request: SendRequest): Promise<Sent | Refusal> {
  if (request.text.trim() === '') return badInput('message', request.text, 'a text that says what to do')
  for (const field of ['timeoutMs', 'maxTokens'] as const) {
    const given = request[field]
    if (given !== undefined && !(Number.isFinite(given) && given >= 0)) return badInput(field, given, 'a number that is zero or more')
  }
  const bytes = byteLength(request.text)
  if (bytes > line.limits.taskBytesMax) return { code: 'too_large', field: 'message', bytes, bytesMax: line.limits.taskBytesMax }
  const suffix = line.ids.next()
  const session: SessionId = 'session' in request.to ? request.to.session : `ses_${suffix}`
  const flow: FlowId = `flow_${suffix}`
  const tokens = line.count(request.text)
  return starting(line, `turn_${suffix}`, session, () => sendNow(line, request, suffix, session, flow, tokens))
}

async function sendNow(line: Line, request: SendRequest, suffix: string, session: SessionId, flow: FlowId, tokens: number): Promise<Sent | Refusal> {
  const decided = await line.store.transact([`session:${session}`, `flow:${flow}`], async (tx): Promise<Refusal | { row: SessionRow; sent: EventOf<'message.sent'>; started: EventOf<'turn.started'> | null; at: number }> => {
    const facts = 'session' in request.to ? await tx.session(session) : nothingYet
    const row = facts.session ?? newSession(request, session, tx.now)
    if (row === null || row.archived) return { code: 'session_unknown', session }
    const agent = line.agents.get(row.agent)
    if (agent === undefined) return { code: 'agent_unknown', agent: row.agent, known: [...line.agents.names()] }
    if (row.kind !== 'persistent') return { code: 'session_unknown', session }
    if (facts.queued >= line.limits.queuedPerSessionMax) return { code: 'queue_full', session, queued: facts.queued, queuedMax: line.limits.queuedPerSessionMax }
    const sent: EventOf<'message.sent'> = {
      type: 'message.sent', session, turn: `turn_${suffix}`, message: `msg_${suffix}`, flow, from: null, source: 'user', text: request.text, tokens, deadline: request.timeoutMs === undefined ? null : Math.floor(tx.now + request.timeoutMs), grant: rootGrant(line, row, agent, request),
    }
    const started = facts.running === null && facts.next === null ? startedEvent(line, session, `turn_${suffix}`, Math.floor(tx.now + Math.min(request.timeoutMs ?? Infinity, line.limits.turnMsMax))) : null
    tx.append(...(facts.session === null ? [createdEvent(row)] : []), sent, ...(started === null ? [] : [started]))
    return { row, sent, started, at: tx.now }
  })
  if ('code' in decided) return decided
  const { row, sent, started, at } = decided
  if (started !== null) line.start(turnRowOf(sent, started, at), row, sent, null)
  return { message: sent.message, session, turn: `turn_${suffix}`, flow, status: started === null ? 'queued' : 'dispatched' }
}

const startedEvent = (line: Line, session: SessionId, turn: TurnId, deadline: number): EventOf<'turn.started'> => ({ type: 'turn.started', session, turn, node: line.node, epoch: 1, deadline })

const createdEvent = (row: SessionRow): Event => ({ type: 'session.created', session: row.id, turn: null, agent: row.agent, kind: row.kind, parent: row.parent, cwd: row.cwd, title: row.title })

function newSession({ to }: SendRequest, id: SessionId, now: number): SessionRow | null {
  if ('session' in to) return null
  return { id, agent: to.agent, kind: 'persistent', parent: null, cwd: to.cwd, title: to.title ?? '', createdAt: now, archived: false, entries: 0, summary: null, summaryEntries: 0 }
}

/** A user's own turn: depth 0, no ceiling yet, the flow's whole budget. */
function rootGrant(line: Line, row: SessionRow, agent: Agent, { maxTokens }: SendRequest): Grant {
  const budgets = [maxTokens, line.limits.flowTokensMax, agent.limits.maxTokens].filter((budget) => budget !== undefined)
  return {
    agent: agent.name, depth: 0, subagentDepth: 0, path: [{ session: row.id, agent: agent.name }], authority: fullAuthority,
    tokensMax: budgets.length === 0 ? null : Math.floor(Math.min(...budgets)), maxIterations: Math.min(agent.limits.maxIterations ?? iterationsDefault, iterationsMax),
  }
}
