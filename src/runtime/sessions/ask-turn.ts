/** A user's message whose sender waits for the answer: what doors with blocking turns use. */
import type { EventOf, StoredEvent } from '../../model/event.ts'
import type { FlowId, Millis, SessionId, TurnId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { idSuffix } from '../../model/mail.ts'
import { explain, type Refusal, isRefusal } from '../../model/refusal.ts'
import { untilEnded } from '../turns/turn-ending.ts'
import type { ToolUse } from './client-turn.ts'
import type { Runtime } from './runtime.ts'
import { readAll } from '../kernel/scope.ts'
import { send, type Sent } from '../mail/send.ts'
import type { Delta } from '../../wire/log.ts'

/** What one blocking turn gave, for doors that answer with the conversation. */
export type AskAnswer = {
  turn: TurnId
  flow: FlowId
  session: SessionId
  messageId: string
  ended: EventOf<'turn.ended'>
  usage: { input: number; output: number }
  toolCalls: { id: string; name: string; input: Json; ok: boolean; output: Json; at: Millis }[]
  startedAt: Millis
  endedAt: Millis
}

export async function askTurn(
  runtime: Runtime,
  session: SessionId,
  text: string,
  use: ToolUse & { onDelta?: (delta: Delta) => void },
): Promise<AskAnswer | Refusal> {
  const startedAt = runtime.clock.now()
  const { onDelta } = use
  const id = use.id ?? `msg_${runtime.ids.next()}`
  const turn: TurnId = `turn_${idSuffix(id)}`
  const tell =
    onDelta === undefined
      ? null
      : (delta: Delta): void => {
          if (delta.turn === turn) onDelta(delta)
        }
  // Before it is sent: the turn may say something before the sender knows that it has begun.
  if (tell !== null) runtime.deltaListeners.add(tell)
  const heard = hear(runtime, turn)
  try {
    const sent = await send(runtime, { to: { session }, text, id, drawn: use.id === null, trace: use.trace })
    if (isRefusal(sent)) return sent
    const ended = await untilEnded(runtime, sent.turn, use.signal, 'the client went away')
    const recorded = await readRecord(runtime, sent, heard.events)
    return {
      turn: sent.turn,
      flow: sent.flow,
      session: sent.session,
      messageId: sent.message,
      ended,
      startedAt,
      ...collectEffects(recorded, sent, ended, runtime.clock.now()),
    }
  } finally {
    heard.stop()
    if (tell !== null) runtime.deltaListeners.delete(tell)
  }
}

/** What is recorded of a turn, as it is committed here, so that it need not be read again. */
function hear(runtime: Runtime, turn: TurnId): { events: StoredEvent[]; stop(): void } {
  const heard = runtime.heard.get(turn) ?? []
  runtime.heard.set(turn, heard)
  return { events: heard, stop: () => void runtime.heard.delete(turn) }
}

/**
 * From the first to the last; what was not heard from its beginning, like a turn that a retry found, is read.
 */
async function readRecord(
  runtime: Runtime,
  { turn, session }: Sent,
  heard: readonly StoredEvent[],
): Promise<readonly StoredEvent[]> {
  if (heard[0]?.event.type === 'message.sent' && heard.at(-1)?.event.type === 'turn.ended') return heard
  const row = await runtime.store.turn(turn)
  return row === null
    ? []
    : readAll(
        runtime.store,
        row.openedSeq - 1,
        {
          sessions: [session],
          types: ['step.ended', 'call.opened', 'call.ended', 'call.refused', 'turn.ended'],
        },
        row.endedSeq ?? Infinity,
      )
}

/** What the turn did. Its end has the time of the log: a retry is told the same. */
function collectEffects(
  events: readonly StoredEvent[],
  sent: Sent,
  ended: EventOf<'turn.ended'>,
  now: number,
): Pick<AskAnswer, 'usage' | 'toolCalls' | 'endedAt'> {
  const endedAt =
    events.find(({ event }) => event.type === 'turn.ended' && event.turn === sent.turn)?.at ?? now
  const usage = { input: 0, output: 0 }
  const toolCalls: AskAnswer['toolCalls'] = []
  const open = new Map<string, AskAnswer['toolCalls'][number]>()
  for (const { at, event } of events) {
    if (event.turn !== sent.turn) continue
    if (event.type === 'step.ended' && event.usage !== null) {
      usage.input += event.usage.input
      usage.output += event.usage.output
    }
    if (event.type === 'step.ended' && event.kind === 'tool')
      toolCalls.push({
        id: event.key,
        name: event.name,
        input: event.input,
        ok: event.ok,
        output: event.output,
        at,
      })
    if (event.type === 'call.refused')
      toolCalls.push({
        id: event.call,
        name: event.tool,
        input: { agent: event.agent, task: event.task },
        ok: false,
        output: explain(event.refusal),
        at,
      })
    if (event.type === 'call.opened') {
      const call = {
        id: event.call,
        name: event.tool,
        input: { agent: event.grant.agent, task: event.task },
        ok: false,
        output: '',
        at,
      }
      open.set(event.call, call)
      toolCalls.push(call)
    }
    const known = event.type === 'call.ended' ? open.get(event.call) : undefined
    if (event.type === 'call.ended' && known !== undefined)
      Object.assign(known, {
        ok: event.outcome === 'completed',
        output: event.output === '' ? (event.errors[0] ?? '') : event.output,
      })
  }
  return {
    usage:
      ended.tokensUsed > 0 && usage.input + usage.output === 0
        ? { input: 0, output: ended.tokensUsed }
        : usage,
    toolCalls,
    endedAt,
  }
}
