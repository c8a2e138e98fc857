/** Calls for lists, newest first: from the rows of calls, each with its two events. */
import { externalAgent } from '../../model/agent.ts'
import { nameClientProgram } from '../../model/client-address.ts'
import type { StoredEvent } from '../../model/event.ts'
import type { SessionId } from '../../model/id.ts'
import { userSession } from '../../model/mail.ts'
import { explain } from '../../model/refusal.ts'
import type { CallPage, Lists } from '../kernel/lists-port.ts'
import { nothingSpent, renderCost } from '../../model/money.ts'
import { readEnded } from './record.ts'
import type { Store } from '../kernel/store-port.ts'
import type { ListedCall } from '../../wire/calls.ts'

export type CallsFilter = {
  session: SessionId | null
  limit: number
  /** `next` of the page before. */
  before?: number | null
}
type Parts = {
  store: Pick<Store, 'turn' | 'session'>
  lists: Pick<Lists, 'calls'>
  /** What people call an agent. */
  nameOf: (agent: string) => string
}

export async function listCalls(
  { store, lists, nameOf }: Parts,
  { session, limit, before = null }: CallsFilter,
): Promise<{ calls: ListedCall[]; next: number | null }> {
  const page = await lists.calls({ session, before }, limit)
  const calls = await Promise.all(page.calls.map((call) => listed(store, nameOf, call)))
  return { calls: calls.filter((call) => call !== null), next: page.next }
}

async function listed(
  store: Parts['store'],
  nameOf: Parts['nameOf'],
  { first, ended, used, flow }: CallPage['calls'][number],
): Promise<ListedCall | null> {
  const named = async (
    caller: string,
    agent: string,
    session: SessionId,
  ): Promise<Pick<ListedCall, 'caller' | 'callerName' | 'agent' | 'agentName'>> => {
    const row = caller === externalAgent.name ? await store.session(session) : null
    return {
      caller,
      callerName: row === null ? nameOf(caller) : row.id === userSession ? 'you' : nameClientProgram(row),
      agent,
      agentName: nameOf(agent),
    }
  }
  const { at, event }: StoredEvent = first
  if (event.type === 'call.refused') {
    const turn = event.turn === null ? null : await store.turn(event.turn)
    return {
      call: event.call,
      flow,
      ...(await named(turn?.grant.agent ?? '', event.agent, event.session)),
      tool: event.tool,
      task: event.task,
      outcome: 'refused',
      error: explain(event.refusal),
      tokensUsed: 0,
      cost: renderCost(nothingSpent),
      createdAt: at,
      durationMs: 0,
    }
  }
  if (event.type !== 'call.opened') return null
  return {
    call: event.call,
    flow: event.flow,
    ...(await named(event.grant.path.at(-2)?.agent ?? '', event.grant.agent, event.session)),
    tool: event.tool,
    task: event.task,
    outcome: ended?.outcome ?? null,
    error: ended?.errors[0] ?? null,
    tokensUsed: Math.max(ended?.tokensUsed ?? 0, used),
    cost: renderCost(readEnded(ended).spent),
    createdAt: at,
    durationMs: ended === null ? null : ended.endedAt - ended.openedAt,
  }
}
