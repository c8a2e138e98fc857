/**
 * One request and its stream: collects the answer, and ends when it is aborted or nothing comes any more. No
 * retries here.
 */
import type {
  LanguageModelV4,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import { answerUnitsMax } from '../../model/limits.ts'
import type { AskedCall } from '../../runtime/turns/loop.ts'
import type { Alarm } from '../../runtime/kernel/alarm.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import { toModelCall, type WireRequest } from './wire.ts'

export class Stalled extends Error {
  constructor(stallMs: number) {
    super(`nothing came for ${stallMs} ms`)
  }
}

/** The stream was readable and then was not, or said things that no answer says. */
export class BadStream extends Error {
  readonly kind: 'garbage' | 'cut'
  constructor(kind: 'garbage' | 'cut', message: string) {
    super(message)
    this.kind = kind
  }
}

/** What a provider sends as an error inside its stream; it can be of any shape. */
export class StreamError extends Error {
  constructor(cause: unknown) {
    super('the provider sent an error in its stream', { cause })
  }
}

/** Filled while the stream is read, so that what had come is there also when it breaks. */
export type Received = {
  text: string
  inputChars: number
  toolCalls: AskedCall[]
  usage: LanguageModelV4Usage | null
  finish: string | null
  /** Of the answer, as far as the provider's package hands them on. */
  headers: Record<string, string>
}

export const nothingReceived = (): Received => ({
  text: '',
  inputChars: 0,
  toolCalls: [],
  usage: null,
  finish: null,
  headers: {},
})

export type Watch = { clock: Clock; alarm: Alarm; stallMs: number; signal: AbortSignal }

export async function receive(
  model: LanguageModelV4,
  wire: WireRequest,
  received: Received,
  emit: (text: string) => void,
  watch: Watch,
): Promise<void> {
  watch.signal.throwIfAborted()
  const request = new AbortController()
  let refuse = (_reason: unknown): void => undefined
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | null = null
  const halt = (reason: unknown): void => {
    if (request.signal.aborted) return
    request.abort(reason)
    refuse(reason)
    // Cancelling also settles a read that waits on a model which ignores the signal.
    if (reader !== null) letGo(reader.cancel(reason))
  }
  const abort = (): void => halt(watch.signal.reason)
  watch.signal.addEventListener('abort', abort, { once: true })
  const stall = watchStall(watch, () => halt(new Stalled(watch.stallMs)))
  try {
    const { stream, response } = await open(model, wire, request.signal, (reject) => (refuse = reject))
    reader = stream.getReader()
    received.headers = response?.headers ?? {}
    for (;;) {
      const { done, value } = await reader.read()
      request.signal.throwIfAborted()
      if (done) break
      stall.beat()
      take(value, received, emit)
    }
  } catch (error) {
    // Closes the request also where the stream itself broke; the first reason is kept.
    halt(error)
    throw request.signal.reason
  } finally {
    stall.end()
    watch.signal.removeEventListener('abort', abort)
  }
  if (received.finish === null || received.finish === 'interrupted')
    throw new BadStream('cut', 'the stream ended before the answer did')
}

/** Settles when the request is halted at the latest; a stream that opens after that is closed unread. */
const open = (
  model: LanguageModelV4,
  wire: WireRequest,
  signal: AbortSignal,
  onHalt: (reject: (reason: unknown) => void) => void,
): Promise<LanguageModelV4StreamResult> =>
  new Promise((resolve, reject) => {
    onHalt(reject)
    const opening = Promise.resolve(model.doStream({ ...wire, abortSignal: signal }))
    const opened = opening.then(
      (result) => (signal.aborted ? result.stream.cancel(signal.reason) : resolve(result)),
      reject,
    )
    letGo(opened)
  })

function take(part: LanguageModelV4StreamPart, received: Received, emit: (text: string) => void): void {
  // Reasoning, sources and files are not part of the answer; unknown parts of later versions are left alone.
  if (part.type === 'text-delta') {
    received.text += part.delta
    bound(received)
    if (part.delta !== '') emit(part.delta)
  } else if (part.type === 'tool-call') {
    if (part.providerExecuted === true) return
    received.inputChars += part.input.length
    bound(received)
    received.toolCalls.push(toModelCall(part, `call-${received.toolCalls.length + 1}`))
  } else if (part.type === 'finish') {
    received.usage = part.usage
    received.finish = part.finishReason.unified
  } else if (part.type === 'error') {
    throw new StreamError(part.error)
  }
}

function bound(received: Received): void {
  if (received.text.length + received.inputChars > answerUnitsMax)
    throw new BadStream('garbage', `the answer is longer than ${answerUnitsMax} characters`)
}

/** One alarm per request, not one per part: when it rings, it looks how long ago the last part came. */
function watchStall({ clock, alarm, stallMs }: Watch, stalled: () => void): { beat(): void; end(): void } {
  let lastAt = clock.elapsed()
  let off = (): void => undefined
  const watch = (): void => {
    off = alarm.after(lastAt + stallMs - clock.elapsed(), () => {
      if (lastAt + stallMs <= clock.elapsed()) stalled()
      else watch()
    })
  }
  watch()
  return {
    beat: () => {
      lastAt = clock.elapsed()
    },
    end: () => off(),
  }
}

/** For work that nobody waits for: how it ends is reported elsewhere. */
function letGo(work: Promise<unknown>): void {
  work.catch(() => undefined)
}
