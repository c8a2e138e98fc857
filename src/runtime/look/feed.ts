/**
 * Events as they are committed, to whoever listens: in order, without gaps, caught up from the log where
 * somebody comes late. Nothing is read while nobody listens.
 * Text as it streams is in no log: whoever comes in the middle of it is told first what was said so far, as
 * one delta at its offset.
 */
import type { StoredEvent } from '../../model/event.ts'
import type { SessionId } from '../../model/id.ts'
import { nextRound } from '../kernel/next-round.ts'
import type { Runtime } from './runtime.ts'
import type { Hint } from '../kernel/store-port.ts'
import { createSaying } from '../kernel/running.ts'
import type { Delta } from '../../wire/log.ts'
import { createAudience, concerns, type Audience } from './feed-audience.ts'

/**
 * A listener takes a bounded number of bytes at a time, and what it does not take is read again: so the first
 * pages are small.
 */
const pageSizeFirst = 4
const pageSizeMax = 256
/** After a page with more than so much text others run before the next is read. */
const pauseUnits = 64 * 1024
/**
 * How many catch up at the same moment. The others wait for their slice, so that hundreds of them hold nobody
 * else up.
 */
const catchingAtOnceMax = 2

export type FeedFilter = {
  /** Null is all. */
  sessions: readonly SessionId[] | null
}
/** May throw or be slow: it is given what is there and must not await. */
export type FeedSink = { events(events: readonly StoredEvent[]): void; delta(delta: Delta): void }

type Listener = {
  /** Of one that is in the audience this does not count: it was given everything up to the last hint. */
  cursor: number
  readonly sessions: ReadonlySet<SessionId> | null
  readonly sink: FeedSink
  catching: boolean
  /** Text was said that it has not heard. */
  missed: boolean
  ended: boolean
}

export type Feed = { subscribe(after: number, filter: FeedFilter, sink: FeedSink): () => void; stop(): void }

/** Who listens. Most are up to date, and are looked at only when something concerns them. */
type Listeners = {
  readonly audience: Audience<Listener>
  /** Those with a place of their own: they come late, or have just come. */
  readonly apart: Set<Listener>
  /** The number of the last event that the audience was given. */
  given: number
}

export function createFeed(runtime: Runtime): Feed {
  const listeners: Listeners = { audience: createAudience(), apart: new Set(), given: 0 }
  const { audience, apart } = listeners
  const slices = createSlices(runtime)
  let stopped = false
  const unsubscribe = runtime.store.onHint((hints) => {
    for (const hint of hints) if (hint.kind === 'appended') appended(runtime, slices, listeners, hint)
  })
  const onDelta = (delta: Delta): void => {
    for (const { sink } of audience.of(delta.session)) sink.delta(delta)
    for (const listener of apart) {
      if (listener.sessions !== null && !listener.sessions.has(delta.session)) continue
      if (listener.catching) listener.missed = true
      else listener.sink.delta(delta)
    }
  }
  const isAlone = (): boolean => audience.size() + apart.size === 0
  return {
    subscribe(after, { sessions }, sink) {
      if (stopped) return () => undefined
      const listener: Listener = {
        cursor: after,
        sessions: sessions === null ? null : new Set(sessions),
        sink,
        catching: false,
        missed: true,
        ended: false,
      }
      if (isAlone()) runtime.deltaListeners.add(onDelta)
      apart.add(listener)
      if (after < runtime.store.lastSeq()) void catchUp(runtime, slices, listener).catch(runtime.report)
      else tellSaying(runtime, listener)
      return () => {
        listener.ended = true
        apart.delete(listener)
        audience.remove(listener)
        if (isAlone()) runtime.deltaListeners.delete(onDelta)
      }
    },
    stop() {
      stopped = true
      unsubscribe()
      // The store is closed next: who catches up reads no further, and who comes later reads nothing.
      for (const listener of apart) listener.ended = true
    },
  }
}

/**
 * Events that came with the hint go out as they are; a listener that has missed some reads them from the log.
 */
function appended(
  runtime: Runtime,
  slices: Slices,
  listeners: Listeners,
  { events, first, at }: Extract<Hint, { kind: 'appended' }>,
): void {
  const { audience, apart } = listeners
  const catchUpFrom = (listener: Listener): void =>
    void catchUp(runtime, slices, listener).catch(runtime.report)
  if (events === undefined || first === undefined || at === undefined) {
    leaveAudience(listeners)
    for (const listener of apart) catchUpFrom(listener)
    return
  }
  const last = first + events.length - 1
  const stored = events.map((event, index): StoredEvent => ({ seq: first + index, at, event }))
  if (last > listeners.given) {
    // A gap: everybody has to read what was left out.
    if (first !== listeners.given + 1) leaveAudience(listeners)
    listeners.given = last
    for (const [listener, wanted] of audience.concerned(stored)) tell(runtime, listener, wanted)
  }
  for (const listener of apart) {
    if (listener.catching) continue
    if (listener.cursor < first - 1) catchUpFrom(listener)
    else if (last > listener.cursor) {
      if (listener.cursor === first - 1) give(runtime, listener, stored, last)
      else catchUpFrom(listener)
    }
    if (listener.catching || listener.ended || listener.cursor !== listeners.given) continue
    apart.delete(listener)
    audience.add(listener)
  }
}

/** Nobody knows any more what the audience lacks: each goes on from what it was given. */
function leaveAudience({ audience, apart, given }: Listeners): void {
  for (const listener of audience.all()) {
    listener.cursor = given
    apart.add(listener)
  }
  audience.clear()
}

function give(runtime: Runtime, listener: Listener, stored: readonly StoredEvent[], cursor: number): void {
  listener.cursor = cursor
  const wanted =
    listener.sessions === null ? stored : stored.filter(({ event }) => concerns(listener.sessions, event))
  if (wanted.length > 0) tell(runtime, listener, wanted)
}

/** One listener that breaks keeps nobody else from being told. */
function tell(runtime: Runtime, { sink, ended }: Listener, events: readonly StoredEvent[]): void {
  if (ended) return
  try {
    sink.events(events)
  } catch (fault) {
    runtime.report(fault)
  }
}

type Slices = (work: () => Promise<void>) => Promise<void>

/** First come, first served, a few at a time; whatever else waits for the loop comes between two slices. */
function createSlices(runtime: Runtime): Slices {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= catchingAtOnceMax) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      await work()
      if (waiting.length > 0) await runtime.clock.sleep(0, runtime.stopping.signal)
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}

async function catchUp(runtime: Runtime, slices: Slices, listener: Listener): Promise<void> {
  if (listener.catching) return
  listener.catching = true
  let size = pageSizeFirst
  try {
    while (!listener.ended && listener.cursor < runtime.store.lastSeq()) {
      await slices(async () => {
        // It may have left while it waited.
        if (listener.ended) return
        const page = await runtime.store.read(listener.cursor, {}, size)
        size = Math.min(size * 2, pageSizeMax)
        // The reader may be a moment behind the writer.
        if (page.events.length === 0) await runtime.clock.sleep(1, runtime.stopping.signal)
        else give(runtime, listener, page.events, page.next)
        // Writing so much took a while, and reading the next takes one too.
        if (page.units > pauseUnits) await nextRound()
      })
    }
  } catch (fault) {
    // What it was reading was taken from it, and nobody waits for that any more.
    if (!listener.ended) throw fault
  } finally {
    listener.catching = false
  }
  if (!listener.ended && listener.missed) tellSaying(runtime, listener)
}

/** Once it is up to date: what is being said belongs to turns that it knows by then. */
function tellSaying(runtime: Runtime, listener: Listener): void {
  listener.missed = false
  for (const running of runtime.running.values()) {
    if (listener.sessions !== null && !listener.sessions.has(running.row.session)) continue
    const delta = createSaying(running)
    if (delta !== null) listener.sink.delta(delta)
  }
}
