/** What is in a log, newest first: calls with their ends, for lists. */
import type { Outcome } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import { opensTurn } from '../model/opening.ts'
import { explain } from '../model/refusal.ts'
import type { Store } from './ports.ts'
import { readAll } from './scope.ts'

/** `outcome` is null while a call is pending. */
export type ListedCall = { call: string; flow: string | null; caller: string; agent: string; tool: string; task: string; outcome: Outcome | null; error: string | null; tokensUsed: number; createdAt: number; durationMs: number | null }

/** With a session only the calls that it made or that were made to it. */
export async function listCalls(store: Pick<Store, 'read'>, limit: number, session: SessionId | null = null): Promise<ListedCall[]> {
  const calls = new Map<string, ListedCall>()
  const agents = new Map<string | null, string>()
  for (const { at, event } of await readAll(store, 0, { types: ['message.sent', 'message.delivered', 'call.opened', 'call.refused', 'call.ended'] })) {
    if (opensTurn(event)) agents.set(event.turn, event.grant.agent)
    if (session !== null && event.session !== session && !(event.type === 'call.opened' && event.target === session) && event.type !== 'call.ended') continue
    if (event.type === 'call.opened') {
      agents.set(`turn_${event.call.slice(5)}`, event.grant.agent)
      calls.set(event.call, { call: event.call, flow: event.flow, caller: event.grant.path.at(-2)?.agent ?? '', agent: event.grant.agent, tool: event.tool, task: event.task, outcome: null, error: null, tokensUsed: 0, createdAt: at, durationMs: null })
    }
    if (event.type === 'call.refused') {
      calls.set(event.call, { call: event.call, flow: null, caller: agents.get(event.turn) ?? '', agent: event.agent, tool: event.tool, task: event.task, outcome: 'refused', error: explain(event.refusal), tokensUsed: 0, createdAt: at, durationMs: 0 })
    }
    const known = event.type === 'call.ended' ? calls.get(event.call) : undefined
    if (event.type === 'call.ended' && known !== undefined) Object.assign(known, { outcome: event.outcome, error: event.errors[0] ?? null, tokensUsed: event.tokensUsed, durationMs: event.endedAt - event.openedAt })
  }
  return [...calls.values()].toReversed().slice(0, limit)
}
