/** A log in memory, an outlet that counts what it is given, and a follower between them. */
import type { StoredEvent } from '../../src/model/event.ts'
import type { SessionId } from '../../src/model/id.ts'
import { follow, type Follower } from '../../src/server/feed-follow.ts'
import { createFrames, type Frame } from '../../src/server/feed-frame.ts'
import type { LogDesk } from '../../src/runtime/desk/log.ts'
import type { Delta } from '../../src/wire/log.ts'
import type { FeedSink } from '../../src/runtime/look/feed.ts'

export const notice = (seq: number, session: SessionId = 'ses_1', bytes = 10): StoredEvent => ({
  seq,
  at: 0,
  event: { type: 'notice.raised', session, turn: null, about: 'x', text: 'x'.repeat(bytes) },
})

/** A log in memory that tells its listeners in pages, late or at once, as the runtime's feed may. */
export function createLog(events: StoredEvent[], paging: 'at once' | 'later' = 'later') {
  const sinks = new Set<{ sink: FeedSink; cursor: number; catching: boolean }>()
  const log = {
    events,
    subscriptions: 0,
    listeners: () => sinks.size,
    append(...more: StoredEvent[]) {
      events.push(...more)
      for (const one of sinks) if (!one.catching) one.sink.events(more.filter(({ seq }) => seq > one.cursor))
    },
    delta(delta: Delta) {
      for (const { sink } of sinks) sink.delta(delta)
    },
    log: {
      lastSeq: () => events.at(-1)?.seq ?? 0,
      follow(after: number, _sessions: unknown, sink: FeedSink) {
        const one = { sink, cursor: after, catching: true }
        log.subscriptions += 1
        sinks.add(one)
        const catchUp = (): void => {
          const rest = events.filter(({ seq }) => seq > after)
          for (let at = 0; at < rest.length && sinks.has(one); at += 4) sink.events(rest.slice(at, at + 4))
          one.catching = false
        }
        if (paging === 'at once') catchUp()
        else queueMicrotask(catchUp)
        return () => sinks.delete(one)
      },
    } satisfies Pick<LogDesk, 'lastSeq' | 'follow'>,
  }
  return log
}

export function createOutlet() {
  const outlet = {
    sent: [] as string[],
    waiting: [] as (() => void)[],
    bytes: 0,
    bytesMost: 0,
    dropped: null as number | null,
    send(frame: Frame, sent?: () => void) {
      outlet.sent.push(frame.socket.toString())
      outlet.bytes += frame.socket.length
      outlet.bytesMost = Math.max(outlet.bytesMost, outlet.bytes)
      if (sent !== undefined) outlet.waiting.push(sent)
    },
    buffered: () => outlet.bytes,
    drop: (lastSeq: number) => void (outlet.dropped = lastSeq),
    drain() {
      outlet.bytes = 0
      for (const sent of outlet.waiting.splice(0)) sent()
    },
    seqs: () =>
      outlet.sent.flatMap((text) =>
        text.includes('"type":"event"') ? [Number(/"seq":"(\d+)"/.exec(text)?.[1])] : [],
      ),
  }
  return outlet
}

export const ticks = () => new Promise((resolve) => setTimeout(resolve, 0))

export const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n)

export function following(
  log: ReturnType<typeof createLog>,
  more: Partial<Parameters<typeof follow>[0]> = {},
): { outlet: ReturnType<typeof createOutlet>; follower: Follower; faults: unknown[] } {
  const outlet = createOutlet()
  const faults: unknown[] = []
  return {
    outlet,
    faults,
    follower: follow({
      log: log.log,
      frames: createFrames(),
      sight: null,
      bufferedBytesMax: 1_000_000,
      outlet,
      fault: (fault) => faults.push(fault),
      ...more,
    }),
  }
}
