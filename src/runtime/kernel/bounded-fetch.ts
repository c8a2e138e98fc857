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
  { eventBytesMax }: AnswerLimits,
  tooLong: (what: string) => Error,
): (piece: Uint8Array) => void {
  let bytes = 0
  return (piece) => {
    bytes += piece.length
    if (bytes > eventBytesMax) throw tooLong(`the answer has more than ${eventBytesMax} bytes`)
  }
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d]

/** Each byte is looked at once. A line ends with CR, LF or both; a blank line ends the event. */
function eventCheck(
  { eventBytesMax, streamBytesMax }: AnswerLimits,
  tooLong: (what: string) => Error,
): (piece: Uint8Array) => void {
  let streamBytes = 0
  let eventBytes = 0
  let lineBytes = 0
  let last = 0
  return (piece) => {
    streamBytes += piece.length
    if (streamBytes > streamBytesMax) throw tooLong(`the stream has more than ${streamBytesMax} bytes`)
    for (const byte of piece) {
      const endsLine = byte === carriageReturn || (byte === lineFeed && last !== carriageReturn)
      if (endsLine && lineBytes === 0) eventBytes = 0
      if (endsLine) lineBytes = 0
      else if (byte !== lineFeed) lineBytes += 1
      eventBytes += 1
      last = byte
    }
    if (eventBytes > eventBytesMax)
      throw tooLong(`one event of the stream has more than ${eventBytesMax} bytes`)
  }
}
