/** Events as they go out. Each is written as text once, however many listen. */
import type { StoredEvent } from '../model/event.ts'
import type { Delta } from '../wire/log.ts'

/** One piece of a feed in the two dialects; each is made when somebody first needs it. */
export type Frame = {
  /** A whole frame of a WebSocket, with its header. */
  readonly socket: Buffer
  readonly sse: Buffer
  /** About how long it is, without making either. */
  readonly units: number
}

class TextFrame implements Frame {
  readonly #kind: 'event' | 'delta'
  readonly #id: string | null
  readonly #fields: string
  #socket: Buffer | null = null
  #sse: Buffer | null = null

  constructor(kind: 'event' | 'delta', id: string | null, fields: string) {
    this.#kind = kind
    this.#id = id
    this.#fields = fields
  }

  get socket(): Buffer {
    return (this.#socket ??= toSocketFrame(`{"type":"${this.#kind}",${this.#fields}}`))
  }

  get sse(): Buffer {
    return (this.#sse ??= Buffer.from(
      `${this.#id === null ? '' : `id: ${this.#id}\n`}event: ${this.#kind}\ndata: {${this.#fields}}\n\n`,
    ))
  }

  get units(): number {
    return this.#fields.length
  }

  /** About what it holds: the text, and both dialects of it. */
  get bytes(): number {
    return this.#fields.length * 4
  }
}

/** A server's frame has no mask (RFC 6455, 5.2), so the same bytes go to everybody. */
function toSocketFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafe(head + length)
  frame[0] = 0x81
  frame[1] = head === 2 ? length : head === 4 ? 126 : 127
  if (head === 4) frame.writeUInt16BE(length, 2)
  if (head === 10) frame.writeBigUInt64BE(BigInt(length), 2)
  frame.write(text, head)
  return frame
}

export type Frames = { event(stored: StoredEvent): Frame; delta(delta: Delta): Frame }

const keptBytesMax = 8 * 1024 * 1024

/**
 * Keeps the frames of the newest events asked for, within a bound of bytes. A number is a cursor: it goes out
 * as text, and means nothing but its order.
 */
export function createFrames(keptMax = keptBytesMax): Frames {
  const kept = new Map<number, TextFrame>()
  let bytes = 0
  let last: { delta: Delta; frame: Frame } | null = null
  return {
    event(stored) {
      const known = kept.get(stored.seq)
      if (known !== undefined) return known
      const { seq: number, at, event } = stored
      const place = `"seq":"${number}","at":${at},"sessionId":${JSON.stringify(event.session)}`
      const frame = new TextFrame('event', String(number), `${place},"event":${JSON.stringify(event)}`)
      kept.set(stored.seq, frame)
      bytes += frame.bytes
      for (const [seq, old] of kept) {
        if (bytes <= keptMax) break
        kept.delete(seq)
        bytes -= old.bytes
      }
      return frame
    },
    // All listeners are told of one delta before the next.
    delta(delta) {
      if (last?.delta !== delta)
        last = {
          delta,
          frame: new TextFrame(
            'delta',
            null,
            `"sessionId":${JSON.stringify(delta.session)},${JSON.stringify(delta).slice(1, -1)}`,
          ),
        }
      return last.frame
    },
  }
}
