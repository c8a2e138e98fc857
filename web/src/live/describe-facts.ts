/** What people call sessions and requests, what a session does, and how a request ended for the one who asked. */
import type { Outcome } from '../../../src/model/event.ts'
import { getStatus, type FlowFact, type Ledger, type SessionFact } from './ledger.ts'

/** What a session does; for a session that waits, why. */
export type Activity = 'idle' | 'error' | 'working' | 'waiting' | 'queued' | 'asking' | 'away'
export function getActivity(ledger: Ledger, session: SessionFact): Activity {
  const status = getStatus(session)
  if (status !== 'streaming') return status
  const started = [...session.liveTurns].some((id) => ledger.turns.get(id)?.startedAt != null)
  if (session.away && !started) return 'away'
  for (const question of ledger.questions.values()) if (question.session === session.id) return 'asking'
  if (session.waitsFor.size > 0) return 'waiting'
  const turns = [...session.liveTurns].map((id) => ledger.turns.get(id))
  return turns.length > 0 && turns.every((turn) => turn?.startedAt === null) ? 'queued' : 'working'
}

/** Its title, the first words of its first message, or its agent. */
export function nameSession(ledger: Ledger, session: SessionFact): string {
  if (session.title !== '') return session.title
  for (const id of session.turnIds) {
    const text = ledger.turns.get(id)?.text ?? ''
    if (text !== '') return text
  }
  return [session.agentName, session.agent, session.id].find((name) => name !== '') ?? session.id
}

/** What its newest turn was asked; empty where that is what it is called by. */
export function readLastTask(ledger: Ledger, session: SessionFact): string {
  const last = [...session.turnIds].at(-1)
  const text = last === undefined ? '' : (ledger.turns.get(last)?.text ?? '')
  const name = nameSession(ledger, session)
  return text.startsWith(name.replace(/ ?…$/, '')) ? '' : text
}

/** How a request ended: of a client's own turn, what it asked for decides. */
export function getFlowOutcome(ledger: Ledger, flow: FlowFact): Outcome | null {
  const root = ledger.turns.get(flow.turn)
  if (root === undefined || root.outcome !== 'completed' || !root.isUse) return root?.outcome ?? null
  const made = [...flow.calls]
    .map((id) => ledger.calls.get(id))
    .filter((call) => call?.callerTurn === root.id)
  return made.at(-1)?.outcome ?? root.shown ?? root.outcome
}

/** Who was asked: of a client's request the one that it called. */
export function getFlowAgent(ledger: Ledger, flow: FlowFact): string {
  const root = ledger.turns.get(flow.turn)
  if (root?.isUse !== true) return flow.agent
  const made = [...flow.calls].map((id) => ledger.calls.get(id)).find((call) => call?.callerTurn === root.id)
  return made?.agent ?? ledger.sessions.get(flow.session)?.agentName ?? ''
}
