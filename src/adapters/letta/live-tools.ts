/** The tools of one turn while it runs, from the log's events, for a client that watches it. */
import type { SessionId, TurnId } from '../../model/id.ts'
import type { StoredEvent } from '../../model/event.ts'
import type { LogDesk } from '../../runtime/desk/log.ts'
import { type LettaMessage, toolCallMessage, toolMessages, type ToolUsed } from './wire.ts'

type Called = Pick<ToolUsed, 'id' | 'name' | 'input' | 'at'>

/** `id` is the message that starts the turn, which has no id before it is recorded. The result ends it. */
export function followTools(
  log: Pick<LogDesk, 'follow' | 'lastSeq'>,
  session: SessionId,
  id: string,
  show: (message: LettaMessage) => void,
): () => void {
  const calls = new Map<string, Called>()
  let turn: TurnId | null = null
  const events = (stored: readonly StoredEvent[]): void => {
    for (const one of stored) {
      if (one.event.type === 'message.sent' && one.event.message === id) turn = one.event.turn
      if (turn !== null && one.event.turn === turn)
        for (const message of renderEvent(turn, one, calls)) show(message)
    }
  }
  return log.follow(log.lastSeq(), [session], { events, delta: () => undefined })
}

/** With the same ids and words that the turn's answer has, so that a stream shows each once. */
function renderEvent(turn: TurnId, { event, at }: StoredEvent, calls: Map<string, Called>): LettaMessage[] {
  if (event.type === 'step.started' && event.kind === 'tool')
    return [toolCallMessage(turn, { ...event, id: event.key, at })]
  if (event.type === 'step.ended' && event.kind === 'tool')
    return toolMessages(turn, { ...event, id: event.key, at })
  if (event.type === 'call.opened') {
    const input = { agent: event.grant.agent, task: event.task }
    const called = { id: event.call, name: event.tool, input, at }
    calls.set(event.call, called)
    // One in the background has given its turn an answer at once; it is shown when it has ended.
    return event.background ? [] : [toolCallMessage(turn, called)]
  }
  const called = event.type === 'call.ended' ? calls.get(event.call) : undefined
  if (event.type !== 'call.ended' || called === undefined) return []
  return toolMessages(turn, {
    ...called,
    ok: event.outcome === 'completed',
    output: event.output === '' ? (event.errors[0] ?? '') : event.output,
  })
}
