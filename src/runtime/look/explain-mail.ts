/** Mail that nobody works on yet: a flow seems to stand still while its message waits for somebody. */
import type { StoredEvent } from '../../model/event.ts'
import type { MessageFacts } from '../../model/facts.ts'
import type { MessageId, SessionId } from '../../model/id.ts'
import type { ExplainedMessage } from '../../wire/explain.ts'
import type { Scope } from '../kernel/scope.ts'
import type { ExplainPorts } from './explain-ports.ts'

const messagesMax = 100
const inboxMax = 20

/** What its turns wrote and nobody took; of a session also what waits in its own inbox. */
export async function listMail(
  { store, lists: { mail }, sees }: ExplainPorts,
  { id, kind }: Scope,
  events: readonly StoredEvent[],
): Promise<ExplainedMessage[]> {
  const found = new Map<string, MessageFacts>()
  for (const message of listWritten(events)) {
    const facts = await mail.message(message)
    if (facts !== null) found.set(facts.id, facts)
  }
  if (kind === 'session') {
    const inbox = await mail.inbox(id as SessionId, { replies: null, newest: false, limit: inboxMax })
    for (const facts of inbox.messages) found.set(facts.id, facts)
  }
  const waiting: ExplainedMessage[] = []
  for (const facts of found.values()) {
    const { status, from, to, owner, id: message } = facts
    if (status !== 'draft' && status !== 'buffered' && status !== 'ready') continue
    if (sees !== undefined && !(await sees(from ?? owner)) && !(to !== null && (await sees(to)))) continue
    const agent = to === null ? null : ((await store.session(to))?.agent ?? null)
    waiting.push({ message, from, to, status, why: describe(facts, agent), since: facts.updatedAt })
  }
  return waiting.toSorted((a, b) => a.since - b.since)
}

function describe({ status, to }: MessageFacts, agent: string | null): string {
  const receiver = agent === null ? (to ?? 'a new session') : `${agent} (${to})`
  if (status === 'draft') return `is a draft to ${receiver}: it goes out when somebody releases it`
  return status === 'ready'
    ? `waits for ${receiver} until that program takes it`
    : `waits in the inbox of ${receiver} until somebody accepts it`
}

/** A message stands on its receiver's timeline; what was sent is known from what the tools answered. */
function listWritten(events: readonly StoredEvent[]): MessageId[] {
  const ids = new Set<string>()
  for (const { event } of events) {
    if (event.type === 'message.drafted') ids.add(event.message)
    if (event.type !== 'step.ended' || event.kind !== 'tool' || !event.ok) continue
    if (!['send-message', 'send_agent_message', 'create_agent_session'].includes(event.name)) continue
    const { output } = event
    if (typeof output !== 'object' || output === null || Array.isArray(output)) continue
    for (const id of [output['id'], output['messageId']]) if (typeof id === 'string') ids.add(id)
    if (ids.size >= messagesMax) break
  }
  return [...ids] as MessageId[]
}
