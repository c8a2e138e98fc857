/** Which sessions an event concerns in a view of mail: messages that it changes, and uses of tools. */
import type { Event, EventType, StoredEvent } from '../model/event.ts'
import type { MessageId, SessionId } from '../model/id.ts'
import { explain } from '../model/refusal.ts'
import type { ToolChange } from './mail-storage.ts'

export type Touched = { messages: Set<MessageId>; tools: ToolChange[] }

/** A turn that began or ended changes the status of the message that opened it. */
export const mailTypes: readonly EventType[] = [
  'message.sent',
  'message.released',
  'message.accepted',
  'message.delivered',
  'message.answered',
  'message.declined',
  'message.died',
  'turn.started',
  'turn.cancelled',
  'turn.ended',
]
export const toolTypes: readonly EventType[] = [
  'step.started',
  'step.ended',
  'call.opened',
  'call.ended',
  'call.refused',
]

export function collectTouched(events: readonly StoredEvent[], tracing: boolean): Map<SessionId, Touched> {
  const touched = new Map<SessionId, Touched>()
  const of = (session: SessionId): Touched => {
    const known = touched.get(session) ?? { messages: new Set(), tools: [] }
    touched.set(session, known)
    return known
  }
  for (const stored of events) {
    const message = findMessage(stored.event)
    if (message !== null) of(stored.event.session).messages.add(message)
    const tool = tracing ? findToolChange(stored) : null
    if (tool !== null) of(stored.event.session).tools.push(tool)
  }
  return touched
}

function findMessage(event: Event): MessageId | null {
  // A turn is named after what opened it; one that a call opened has no message of that name.
  if (event.type === 'turn.started' || event.type === 'turn.cancelled' || event.type === 'turn.ended')
    return event.turn === null ? null : `msg_${event.turn.slice('turn_'.length)}`
  // A draft is its owner's alone.
  return 'message' in event && event.type !== 'message.drafted' && event.type !== 'message.revised'
    ? event.message
    : null
}

function findToolChange({ seq, at, event }: StoredEvent): ToolChange | null {
  const change = (key: string, name: string, parameters: unknown, startedAt = at): ToolChange => ({
    seq,
    key,
    name,
    parameters: JSON.stringify(parameters),
    startedAt,
    ended: null,
  })
  if (event.type === 'step.started' || event.type === 'step.ended') {
    if (event.kind !== 'tool') return null
    const key = `${event.turn ?? ''}:${event.key}`
    if (event.type === 'step.started') return change(key, event.name, event.input)
    const { ok, output } = event
    const text = ok || typeof output !== 'string' ? JSON.stringify(output) : output
    return { ...change(key, event.name, event.input, event.startedAt), ended: { ok, text, at } }
  }
  if (event.type === 'call.opened') {
    const { target: session, task, grant } = event
    return change(event.call, event.tool, { agent: grant.agent, session, task, input: event.input ?? null })
  }
  if (event.type === 'call.refused') {
    const asked = change(event.call, event.tool, { agent: event.agent, task: event.task })
    return { ...asked, ended: { ok: false, text: explain(event.refusal), at } }
  }
  if (event.type !== 'call.ended') return null
  const ok = event.outcome === 'completed'
  const text = ok ? JSON.stringify(event.output) : `${event.outcome}: ${event.cause}`
  return { ...change(event.call, 'call', null, event.openedAt), ended: { ok, text, at } }
}
