/** A user's message whose sender waits for the answer: what doors with blocking turns use. */
import type { EventOf } from '../model/event.ts'
import type { SessionId, TurnId } from '../model/id.ts'
import { suffixOf } from '../model/mail.ts'
import { explain, type Refusal } from '../model/refusal.ts'
import { cancel } from './ending.ts'
import type { AskAnswer, ToolUse } from './exchange.ts'
import type { Line } from './line.ts'
import type { Delta } from './ports.ts'
import { turnEnding } from './run.ts'
import { readAll } from './scope.ts'
import { send, type Sent } from './send.ts'

export async function askTurn(line: Line, session: SessionId, text: string, use: ToolUse & { onDelta?: (delta: Delta) => void }): Promise<AskAnswer | Refusal> {
  const startedAt = line.clock.now()
  const { onDelta } = use
  const id = use.id ?? `msg_${line.ids.next()}`
  const turn: TurnId = `turn_${suffixOf(id)}`
  const tell = onDelta === undefined ? null : (delta: Delta): void => {
    if (delta.turn === turn) onDelta(delta)
  }
  // Before it is sent: the turn may say something before the sender knows that it has begun.
  if (tell !== null) line.deltaListeners.add(tell)
  try {
    const sent = await send(line, { to: { session }, text, id, trace: use.trace })
    return 'code' in sent ? sent : await untilEnded(line, sent, use.signal, startedAt)
  } finally {
    if (tell !== null) line.deltaListeners.delete(tell)
  }
}

async function untilEnded(line: Line, sent: Sent, signal: AbortSignal, startedAt: number): Promise<AskAnswer> {
  const leave = (): void => void cancel(line, sent.turn, 'cancelled', 'the client went away').catch(line.report)
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  try {
    const ended = await turnEnding(line, sent.turn)
    return { turn: sent.turn, flow: sent.flow, session: sent.session, messageId: sent.message, ended, startedAt, ...(await effectsOf(line, sent, ended)) }
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** What the turn did, from its record; one that used no tool needs no second look. */
async function effectsOf(line: Line, sent: Sent, ended: EventOf<'turn.ended'>): Promise<Pick<AskAnswer, 'usage' | 'toolCalls' | 'endedAt'>> {
  const row = await line.store.turn(sent.turn)
  // From the log: a retry is told the same time.
  const endedAt = (row?.endedSeq == null ? null : await line.store.event(row.endedSeq))?.at ?? line.clock.now()
  const usage = { input: 0, output: 0 }
  const toolCalls: AskAnswer['toolCalls'] = []
  if (row === null) return { usage, toolCalls, endedAt }
  const events = await readAll(line.store, row.openedSeq - 1, { sessions: [sent.session], types: ['step.ended', 'call.opened', 'call.ended', 'call.refused'] }, row.endedSeq ?? Infinity)
  const open = new Map<string, AskAnswer['toolCalls'][number]>()
  for (const { at, event } of events) {
    if (event.turn !== sent.turn) continue
    if (event.type === 'step.ended' && event.usage !== null) {
      usage.input += event.usage.input
      usage.output += event.usage.output
    }
    if (event.type === 'step.ended' && event.kind === 'tool') toolCalls.push({ id: event.key, name: event.name, input: event.input, ok: event.ok, output: event.output, at })
    if (event.type === 'call.refused') toolCalls.push({ id: event.call, name: event.tool, input: { agent: event.agent, task: event.task }, ok: false, output: explain(event.refusal), at })
    if (event.type === 'call.opened') {
      const call = { id: event.call, name: event.tool, input: { agent: event.grant.agent, task: event.task }, ok: false, output: '', at }
      open.set(event.call, call)
      toolCalls.push(call)
    }
    const known = event.type === 'call.ended' ? open.get(event.call) : undefined
    if (event.type === 'call.ended' && known !== undefined) Object.assign(known, { ok: event.outcome === 'completed', output: event.output === '' ? (event.errors[0] ?? '') : event.output })
  }
  return { usage: ended.tokensUsed > 0 && usage.input + usage.output === 0 ? { input: 0, output: ended.tokensUsed } : usage, toolCalls, endedAt }
}
