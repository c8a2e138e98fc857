/**
 * `fetch` whose answers are bounded while they come: libraries that read them buffer whole events and whole
 * bodies, however long those are.
 */
import { nextRound } from './next-round.ts'

export type AnswerLimits = {
  /** Of one server-sent event, from one blank line to the next; and of a body that is no event stream. */
  eventBytesMax: number
  /** Of a whole event stream. */
  streamBytesMax: number
  /** Of JSON. Libraries take many times as long for what is deep, and write it into their messages. */
  depthMax: number
}

export type Fetch = typeof fetch

/**
 * What one read of a socket gives may hold hundreds of events, and libraries take a part of a millisecond for
 * each. So it is handed on in pieces, between which others run.
 */
const pieceBytesMax = 8192

/** `tooLong` makes the error with which reading ends; the request is then aborted. */
export function boundedFetch(
  limits: AnswerLimits,
  tooLong: (what: string) => Error,
  ask: Fetch = fetch,
): Fetch {
  return async (...asked) => {
    const response = await ask(...asked)
    if (response.body === null) return response
    const isEvents =
      response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true
    const check = isEvents ? eventCheck(limits, tooLong) : bodyCheck(limits, tooLong)
    const bounded = new TransformStream<Uint8Array, Uint8Array>({
      async transform(piece, controller) {
        // What is thrown here errors both sides: the reader sees it, and the connection is closed.
        check(piece)
        for (let from = 0; from < piece.length; from += pieceBytesMax) {
          if (from > 0) await nextRound()
          controller.enqueue(piece.subarray(from, from + pieceBytesMax))
        }
      },
    })
    const { status, statusText, headers } = response
    const answer = new Response(response.body.pipeThrough(bounded), { status, statusText, headers })
    // What was asked may have been moved, and libraries want to know where to.
    Object.defineProperty(answer, 'url', { value: response.url })
    return answer
  }
}

function bodyCheck(
  { eventBytesMax, depthMax }: AnswerLimits,
  tooLong: (what: string) => Error,
): (piece: Uint8Array) => void {
  let bytes = 0
  const look = depthCheck()
  return (piece) => {
    bytes += piece.length
    if (bytes > eventBytesMax) throw tooLong(`the answer has more than ${eventBytesMax} bytes`)
    for (const byte of piece) look.take(byte)
    if (look.deepest() > depthMax) throw tooLong(`the answer has more than ${depthMax} levels`)
  }
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d]
const [quote, backslash] = [0x22, 0x5c]
/** `{` and `[`, and their ends, differ in one bit from each other. */
const [opening, closing, caseBit] = [0x7b, 0x7d, 0x20]

/** How deep JSON in it would be, byte by byte. There are texts only inside of brackets, and a line ends each. */
function depthCheck(): { take(byte: number): void; end(): void; deepest(): number } {
  let depth = 0
  let deepest = 0
  let inText = false
  let escaped = false
  return {
    take(byte) {
      if (byte === lineFeed || byte === carriageReturn) inText = false
      if (inText) {
        if (escaped) escaped = false
        else if (byte === backslash) escaped = true
        else if (byte === quote) inText = false
        return
      }
      if (byte === quote) {
        inText = depth > 0
        escaped = false
      } else if ((byte | caseBit) === opening) {
        depth += 1
        if (depth > deepest) deepest = depth
      } else if ((byte | caseBit) === closing && depth > 0) depth -= 1
    },
    end() {
      depth = 0
      inText = false
    },
    deepest: () => deepest,
  }
}

/** Each byte is looked at once. A line ends with CR, LF or both; a blank line ends the event. */
function eventCheck(
  { eventBytesMax, streamBytesMax, depthMax }: AnswerLimits,
  tooLong: (what: string) => Error,
): (piece: Uint8Array) => void {
  let streamBytes = 0
  let eventBytes = 0
  let lineBytes = 0
  let last = 0
  const look = depthCheck()
  return (piece) => {
    streamBytes += piece.length
    if (streamBytes > streamBytesMax) throw tooLong(`the stream has more than ${streamBytesMax} bytes`)
    for (const byte of piece) {
      const endsLine = byte === carriageReturn || (byte === lineFeed && last !== carriageReturn)
      look.take(byte)
      if (endsLine && lineBytes === 0) {
        eventBytes = 0
        look.end()
      }
      if (endsLine) lineBytes = 0
      else if (byte !== lineFeed) lineBytes += 1
      eventBytes += 1
      last = byte
    }
    if (look.deepest() > depthMax) throw tooLong(`one event of the stream has more than ${depthMax} levels`)
    if (eventBytes > eventBytesMax)
      throw tooLong(`one event of the stream has more than ${eventBytesMax} bytes`)
  }
}
