/**
 * Everybody who listens: how many may, when they are asked whether they are still there, and what ends them.
 */
import { callEach, faultText } from '../model/contained.ts'
import type { SessionId } from '../model/id.ts'
import { badInput, type Refusal } from '../model/refusal.ts'
import type { Who } from '../runtime/desk/asker.ts'
import type { Desks } from '../runtime/desk/desk.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { createFrames } from './feed-frame.ts'
import { follow, type Follower, type Outlet } from './feed-follow.ts'
import { gatherWrites, type GatheredWrites } from './gather-writes.ts'
import type { LogSink } from './log-sink.ts'
export type Listener = {
  /** Every quarter of a minute. */
  beat(): void
  /** The server stops. */
  end(): void
  /** Bytes that it was given and has not taken. */
  held(): number
  /** It holds too much of what all may hold: it goes at once, without last words. */
  shed(): void
}

export type Feed = {
  readonly writes: GatheredWrites
  /** Null where there are too many; otherwise how to leave. */
  join(listener: Listener): (() => void) | null
  follow(who: Who, outlet: Outlet): Follower
  /** The sessions that were named, by id or unique part, if `who` may see them. */
  find(who: Who, named: readonly string[] | null): Promise<{ sessions: SessionId[] | null } | Refusal>
  /** Where to begin: at a number that was sent before, or now. */
  resolveStart(after: string | number | null): number | Refusal
  end(): void
}

export type FeedOptions = {
  desks: Desks
  clock: Clock
  log: LogSink
  listenersMax: number
  bufferedBytesMax: number
  bufferedBytesTotalMax: number
  beatMs: number
  closing: AbortSignal
}

export function createListeners({
  desks,
  clock,
  log,
  listenersMax,
  bufferedBytesMax,
  bufferedBytesTotalMax,
  beatMs,
  closing,
}: FeedOptions): Feed {
  const listeners = new Set<Listener>()
  const frames = createFrames()
  const fault = (error: unknown): void => log('error', 'a feed broke', { stack: faultText(error) })
  const shed = (): void => shedMost(listeners, bufferedBytesTotalMax, log, fault)
  let handedBytes = 0
  /**
   * Looks at everybody each time that a part of what they may hold was handed out: between two looks they
   * cannot hold much more.
   */
  const counted = (outlet: Outlet): Outlet => ({
    ...outlet,
    send(frame, sent) {
      outlet.send(frame, sent)
      handedBytes += frame.units
      if (handedBytes < bufferedBytesTotalMax / 8) return
      handedBytes = 0
      shed()
    },
  })
  const beat = async (): Promise<void> => {
    while (!closing.aborted) {
      await clock.sleep(beatMs, closing)
      callEach(
        fault,
        [...listeners].map((listener) => () => listener.beat()),
      )
    }
  }
  // The sleep rejects when the server stops: then nobody is left to be asked.
  beat().catch((error: unknown) => (closing.aborted ? undefined : fault(error)))
  return {
    writes: gatherWrites(),
    join(listener) {
      shed()
      if (listeners.size >= listenersMax) return null
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    follow(who, outlet) {
      const { log } = desks.as({ who })
      return follow({ log, frames, sight: log.sight(), bufferedBytesMax, outlet: counted(outlet), fault })
    },
    find: (who, named) => desks.as({ who }).log.named(named),
    resolveStart: (after) => resolveStart(desks.as({}).log.lastSeq(), after),
    end() {
      callEach(
        fault,
        [...listeners].map((listener) => () => listener.end()),
      )
    },
  }
}

/** Those that hold most go first, until the rest fits; they can come back with the number of their last event. */
function shedMost(
  listeners: Set<Listener>,
  bytesMax: number,
  log: LogSink,
  fault: (error: unknown) => void,
): void {
  const held = [...listeners]
    .map((listener) => ({ listener, bytes: listener.held() }))
    .toSorted((a, b) => b.bytes - a.bytes)
  let total = held.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const { listener, bytes } of held) {
    if (total <= bytesMax) return
    total -= bytes
    listeners.delete(listener)
    log('warn', 'a client that reads too slowly was dropped, because all together hold too much', {
      buffered: bytes,
    })
    callEach(fault, [() => listener.shed()])
  }
}

/**
 * A number beyond the end of the log came from another log: what happens from now on is the best that can be
 * given.
 */
function resolveStart(last: number, after: string | number | null): number | Refusal {
  if (after === null) return last
  const seq = typeof after === 'number' ? after : /^\d{1,15}$/.test(after) ? Number(after) : Number.NaN
  return Number.isSafeInteger(seq) && seq >= 0
    ? Math.min(seq, last)
    : badInput('after', after, 'the seq of an event, or 0 for the beginning,')
}

export const tooManyListeners = (listenersMax: number): Refusal => ({
  code: 'rate_limited',
  what: `feeds (at most ${listenersMax} at once)`,
  perMinute: listenersMax,
  retryInMs: 5000,
})
