/**
 * Turns that clients wait for. Letta's clients give up after a minute and ask again without saying that they
 * do, so a request is known by its key alone.
 *
 * F1: While a turn is in flight, a request with the same key attaches to it and gets the same answer.
 * F2: A turn that nobody is attached to is cancelled after `graceMs`, not before, unless somebody attaches.
 * F3: An answer that reached nobody is kept as long, so that a retry finds it. One that reached somebody is
 * forgotten at once: the same words again are a new request.
 */
import type { Clock } from '../../runtime/kernel/ports.ts'

/** One client's place at a turn. It must be left exactly when the client is gone or served. */
export type Place<Answer, Piece> = {
  readonly answer: Promise<Answer>
  /** Everything that has come so far, then each piece as it comes, until the place is left. */
  watch(listener: (piece: Piece) => void): void
  leave(delivered: boolean): void
}

/** Must stop soon after `signal` aborts. */
export type StartTurn<Answer, Piece> = (signal: AbortSignal, emit: (piece: Piece) => void) => Promise<Answer>

export type TurnsInFlight<Answer, Piece> = {
  attach(key: string, start: StartTurn<Answer, Piece>): Place<Answer, Piece>
  size(): number
  /** Cancels nothing: the turns belong to the runtime, and only the waiting for clients ends. */
  close(): void
}

type Flight<Answer, Piece> = {
  answer: Promise<Answer>
  abort: AbortController
  pieces: Piece[]
  listeners: Set<(piece: Piece) => void>
  attached: number
  delivered: boolean
  /** Runs while nobody is attached. */
  countdown: AbortController | null
}

export function turnsInFlight<Answer, Piece>(clock: Clock, graceMs: number): TurnsInFlight<Answer, Piece> {
  const flights = new Map<string, Flight<Answer, Piece>>()
  let closed = false

  const forget = (key: string, flight: Flight<Answer, Piece>): void => {
    if (flights.get(key) === flight) flights.delete(key)
  }
  const countDown = async (key: string, flight: Flight<Answer, Piece>): Promise<void> => {
    const countdown = new AbortController()
    flight.countdown = countdown
    try {
      await clock.sleep(graceMs, countdown.signal)
    } catch {
      return // Somebody came back.
    }
    forget(key, flight)
    flight.abort.abort(new Error(`nobody waited for it for ${graceMs} ms`)) // F2
  }
  const leave = (key: string, flight: Flight<Answer, Piece>, delivered: boolean): void => {
    flight.attached -= 1
    flight.delivered ||= delivered
    if (flight.delivered) forget(key, flight) // F3
    else if (flight.attached === 0 && !closed) void countDown(key, flight)
  }

  return {
    attach(key, start) {
      const flight = flights.get(key) ?? takeOff(start)
      flights.set(key, flight)
      flight.attached += 1
      flight.countdown?.abort()
      flight.countdown = null
      return placeAt(flight, (delivered) => leave(key, flight, delivered))
    },
    size: () => flights.size,
    close() {
      closed = true
      for (const flight of flights.values()) flight.countdown?.abort()
    },
  }
}

function takeOff<Answer, Piece>(start: StartTurn<Answer, Piece>): Flight<Answer, Piece> {
  const abort = new AbortController()
  const pieces: Piece[] = []
  const listeners = new Set<(piece: Piece) => void>()
  const answer = start(abort.signal, (piece) => {
    pieces.push(piece)
    for (const listener of listeners) listener(piece)
  })
  // With nobody attached nobody awaits it; the next to attach gets the fault.
  answer.catch(() => undefined)
  return { answer, abort, pieces, listeners, attached: 0, delivered: false, countdown: null }
}

function placeAt<Answer, Piece>(
  flight: Flight<Answer, Piece>,
  leave: (delivered: boolean) => void,
): Place<Answer, Piece> {
  const own = new Set<(piece: Piece) => void>()
  let left = false
  return {
    answer: flight.answer,
    watch(listener) {
      for (const piece of flight.pieces) listener(piece)
      own.add(listener)
      flight.listeners.add(listener)
    },
    leave(delivered) {
      if (left) return
      left = true
      for (const listener of own) flight.listeners.delete(listener)
      leave(delivered)
    },
  }
}
