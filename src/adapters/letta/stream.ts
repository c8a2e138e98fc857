/**
 * A turn as server-sent events: `data:` lines without names, one message each, or the text in pieces where
 * `stream_tokens` asks for it; then why it stopped, what it used, and `[DONE]`.
 */
import { PassThrough, type Readable } from 'node:stream'
import { listen } from '../../model/contained.ts'
import { type Refusal, explain, isRefusal } from '../../model/refusal.ts'
import type { AskAnswer } from '../../runtime/sessions/ask-turn.ts'
import { storeRefusal } from '../../runtime/kernel/faults.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import type { Input } from './requests.ts'
import type { Place } from './turns-in-flight.ts'
import { closingMessages, describeEnd, isoDate, type LettaMessage, message, toolMessages } from './wire.ts'
import type { Delta } from '../../wire/log.ts'

/** What a turn shows while it runs: text as it is said, tools as they are called and come back. */
export type Piece = { delta: Delta } | { message: LettaMessage }

/** Proxies and clients give up on a silent line after half a minute and more. */
export const pingMs = 15_000
/** R11: what a client may leave unread. A result has a mebibyte, and each piece of text is wrapped. */
const unreadBytesMax = 16 * 1024 * 1024

type Want = Pick<Input, 'tokens' | 'pings'>
type Send = (value: object | '[DONE]') => void

/** Nothing is sent before something has happened, so that a refusal can still have its status. */
export async function streamTurn(
  place: Place<AskAnswer | Refusal, Piece>,
  want: Want,
  clock: Clock,
): Promise<Readable | Refusal> {
  const out = new PassThrough()
  const over = new AbortController()
  const breakOff = (fault: unknown): void =>
    void out.destroy(fault instanceof Error ? fault : new Error(String(fault)))
  listen(out, 'close', breakOff, () => over.abort())
  // The reply listens too, once it is sent; until then an error has nobody to go to.
  out.on('error', () => undefined)
  const write = (text: string): void => {
    if (!out.writable) return
    // For a client that never reads the turn goes on, and its record has everything.
    if (out.writableLength + out.readableLength > unreadBytesMax) return void out.destroy()
    out.write(text)
  }
  const send: Send = (value) =>
    write(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`)
  const writer = turnWriter(send, want, clock)
  const { promise: begun, resolve: begin } = Promise.withResolvers<'begun'>()
  place.watch((piece) => {
    writer.show(piece)
    begin('begun')
  })
  pingUntil(over.signal, clock, () => {
    if (want.pings) send({ id: 'ping', date: isoDate(clock.now()), message_type: 'ping' })
    else write(': ping\n\n')
    begin('begun')
  }).catch(breakOff)
  const first = await Promise.race([place.answer, begun])
  if (first !== 'begun' && isRefusal(first)) {
    out.destroy()
    return first
  }
  const end = (answer: AskAnswer | Refusal): void => {
    writer.end(answer)
    out.end()
    over.abort()
  }
  place.answer.then(end).catch((fault: unknown) => {
    const refusal = storeRefusal(fault)
    if (refusal === null) breakOff(fault)
    else end(refusal)
  })
  return out
}

async function pingUntil(over: AbortSignal, clock: Clock, ping: () => void): Promise<void> {
  while (!over.aborted) {
    try {
      await clock.sleep(pingMs, over)
    } catch {
      return // The stream is over.
    }
    ping()
  }
}

function turnWriter(send: Send, want: Want, clock: Clock) {
  const sent = new Set<string>()
  const open = new Set<unknown>()
  const text = textWriter(send, clock)
  let held: Delta[] = []
  const tool = (one: LettaMessage): void => {
    if (sent.has(one.id)) return
    sent.add(one.id)
    send(one)
    if (one.message_type === 'tool_call_message') open.add(findCallId(one))
    else open.delete(findCallId(one))
    if (open.size === 0) release()
  }
  const release = (): void => {
    for (const delta of held) text.write(delta)
    held = []
  }
  return {
    show(piece: Piece): void {
      if ('message' in piece) tool(piece.message)
      else if (want.tokens) {
        held.push(piece.delta)
        // What is said after a tool may be heard before its result is: it is shown after it.
        if (open.size === 0) release()
      }
    },
    end(answer: AskAnswer | Refusal): void {
      if (isRefusal(answer))
        send({ message_type: 'error_message', run_id: '', error_type: answer.code, message: explain(answer) })
      else {
        for (const used of answer.toolCalls) for (const one of toolMessages(answer.turn, used)) tool(one)
        release()
        const { stop_reason: stop, usage } = describeEnd(answer)
        for (const one of closingMessages(answer))
          if (one.message_type !== 'assistant_message' || !text.finish(one)) send(one)
        send(stop)
        send(usage)
      }
      send('[DONE]')
    },
  }
}

const findCallId = (one: LettaMessage): unknown =>
  one['tool_call_id'] ?? (one['tool_call'] as { tool_call_id: string }).tool_call_id

/** Pieces of one step have one id. After a crash a turn says again what it had said: it is shown once. */
function textWriter(send: Send, clock: Clock) {
  const said = new Map<number, string>()
  let last: Delta | null = null
  const chunk = (delta: Delta, content: string): void => {
    const id = `message-${delta.turn.slice(5)}-${delta.step}`
    if (content !== '') send(message(id, clock.now(), 'assistant_message', content, delta.turn))
  }
  return {
    write(delta: Delta): void {
      const before = said.get(delta.step) ?? ''
      const more = delta.text.slice(Math.max(0, before.length - delta.offset))
      said.set(delta.step, before + more)
      last = delta
      chunk(delta, more)
    },
    /** Sends what is missing of the answer; false where it is not what was said last. */
    finish({ content }: LettaMessage): boolean {
      const streamed = last === null ? '' : (said.get(last.step) ?? '')
      if (last === null || streamed === '' || !content.startsWith(streamed)) return false
      chunk(last, content.slice(streamed.length))
      return true
    },
  }
}
