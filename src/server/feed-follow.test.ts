import { describe, expect, test } from 'vitest'
import type { StoredEvent } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import { follow, type Follower } from './feed-follow.ts'
import { createFrames, type Frame } from './feed-frame.ts'
import { createSight } from '../runtime/desk/sight.ts'
import type { LogDesk } from '../runtime/desk/log.ts'
import type { SessionRow } from '../model/facts.ts'
import type { Delta } from '../wire/log.ts'
import type { FeedSink } from '../runtime/look/feed.ts'

const notice = (seq: number, session: SessionId = 'ses_1', bytes = 10): StoredEvent => ({
  seq,
  at: 0,
  event: { type: 'notice.raised', session, turn: null, about: 'x', text: 'x'.repeat(bytes) },
})

/** A log in memory that tells its listeners in pages, late or at once, as the runtime's feed may. */
function logOf(events: StoredEvent[], paging: 'at once' | 'later' = 'later') {
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

function outletOf() {
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

const ticks = () => new Promise((resolve) => setTimeout(resolve, 0))
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n)

function following(
  log: ReturnType<typeof logOf>,
  more: Partial<Parameters<typeof follow>[0]> = {},
): { outlet: ReturnType<typeof outletOf>; follower: Follower; faults: unknown[] } {
  const outlet = outletOf()
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

test.each(['at once', 'later'] as const)(
  'F1: every event after the cursor comes once and in order, when the log is told %s',
  async (paging) => {
    const log = logOf(
      numbers(1, 10).map((seq) => notice(seq)),
      paging,
    )
    const { outlet, follower } = following(log)
    follower.start(3, null)
    await ticks()
    log.append(notice(11), notice(12))
    log.append(notice(12))
    log.append(notice(13))
    expect(outlet.seqs()).toEqual(numbers(4, 13))
    follower.stop()
    log.append(notice(14))
    expect(outlet.seqs()).toEqual(numbers(4, 13))
    expect(log.listeners()).toBe(0)
  },
)

test('a new start takes the place of the old one', async () => {
  const log = logOf(numbers(1, 6).map((seq) => notice(seq)))
  const { outlet, follower } = following(log)
  follower.start(0, null)
  follower.start(4, null)
  await ticks()
  expect(outlet.seqs()).toEqual([5, 6])
  expect(log.listeners()).toBe(1)
})

test('whoever follows no session subscribes to nothing', () => {
  const log = logOf([notice(1)], 'at once')
  const { outlet, follower } = following(log)
  follower.start(0, [])
  expect([outlet.seqs(), log.listeners()]).toEqual([[], 0])
})

test.each(['at once', 'later'] as const)(
  'F2: while it catches up it holds about as much as it takes, when the log is told %s',
  async (paging) => {
    const log = logOf(
      numbers(1, 40).map((seq) => notice(seq, 'ses_1', 100_000)),
      paging,
    )
    const { outlet, follower } = following(log, { bufferedBytesMax: 1 })
    follower.start(0, null)
    let subscribedWhileFull = 0
    for (let n = 0; n < 40 && outlet.seqs().length < 40; n += 1) {
      await ticks()
      subscribedWhileFull += outlet.waiting.length > 0 ? log.listeners() : 0
      outlet.drain()
    }
    await ticks()
    expect(outlet.seqs()).toEqual(numbers(1, 40))
    expect(subscribedWhileFull).toBe(0)
    expect(outlet.bytesMost).toBeLessThan(500_000)
    expect(outlet.dropped).toBeNull()
  },
)

test('F3: up to date, it is dropped when it falls behind, with the last number that was sent', async () => {
  const log = logOf([notice(1)])
  const { outlet, follower } = following(log, { bufferedBytesMax: 250_000 })
  follower.start(0, null)
  await ticks()
  for (const seq of numbers(2, 10)) log.append(notice(seq, 'ses_1', 100_000))
  expect(outlet.seqs()).toEqual(numbers(1, 4))
  expect(outlet.dropped).toBe(4)
  expect(log.listeners()).toBe(0)
})

test('F3: one event larger than the bound does not make a quick listener slow', async () => {
  const log = logOf([notice(1)], 'at once')
  const { outlet, follower } = following(log, { bufferedBytesMax: 1000 })
  follower.start(1, null)
  log.append(notice(2, 'ses_1', 5000))
  outlet.drain()
  log.append(notice(3))
  expect([outlet.seqs(), outlet.dropped]).toEqual([[2, 3], null])
})

test('deltas are left out for whoever cannot take them now', () => {
  const log = logOf([])
  const { outlet, follower } = following(log)
  follower.start(0, null)
  const delta: Delta = { session: 'ses_1', turn: 'turn_1', epoch: 1, step: 1, offset: 0, text: 'x' }
  log.delta(delta)
  outlet.bytes = 300_000
  log.delta(delta)
  expect(outlet.sent).toHaveLength(1)
  expect(outlet.dropped).toBeNull()
})

test('a listener that breaks is stopped and told about, and disturbs nobody', async () => {
  const log = logOf([notice(1)])
  const { follower, faults } = following(log, {
    outlet: {
      send: () => {
        throw new Error('broken')
      },
      buffered: () => 0,
      drop: () => undefined,
    },
  })
  follower.start(0, null)
  await ticks()
  expect(faults).toHaveLength(1)
  expect(() => log.append(notice(2))).not.toThrow()
  expect(log.listeners()).toBe(0)
})

describe('what only some may see', () => {
  const parents: Record<string, SessionId | null> = {
    ses_own: null,
    ses_child: 'ses_own',
    ses_grandchild: 'ses_child',
    ses_other: null,
    ses_otherchild: 'ses_other',
  }
  let asked = 0
  const session = async (id: SessionId): Promise<SessionRow | null> => {
    asked += 1
    const parent = parents[id]
    return parent === undefined
      ? null
      : ({
          id: id as SessionId,
          agent: 'a',
          kind: 'persistent',
          parent,
          cwd: '/',
          title: '',
          createdAt: 0,
          archived: false,
          entries: 0,
          summary: null,
          summaryEntries: 0,
          model: null,
        } as never)
  }
  const sight = () => createSight({ session }, { kind: 'session', session: 'ses_own' })
  const sessions: SessionId[] = [
    'ses_other',
    'ses_own',
    'ses_grandchild',
    'ses_nobody',
    'ses_child',
    'ses_otherchild',
  ]

  test('is found out once for each session, and order holds while it is', async () => {
    const events = numbers(1, 60).map((seq) => notice(seq, sessions[seq % sessions.length]))
    const log = logOf(events.slice(0, 30))
    const { outlet, follower } = following(log, { sight: sight() })
    asked = 0
    follower.start(0, null)
    for (const event of events.slice(30)) {
      log.append(event)
      await Promise.resolve()
    }
    for (let n = 0; n < 20; n += 1) await ticks()
    expect(outlet.seqs()).toEqual(
      events
        .filter(({ event }) => ['ses_own', 'ses_child', 'ses_grandchild'].includes(event.session))
        .map(({ seq }) => seq),
    )
    expect(asked).toBeLessThan(15)
  })

  test('is read again from the log where more came than could wait', async () => {
    const log = logOf([notice(1, 'ses_other')])
    const { outlet, follower } = following(log, { sight: sight() })
    follower.start(0, null)
    await Promise.resolve()
    for (const seq of numbers(2, 1500))
      log.append(notice(seq, seq % 2 === 0 ? 'ses_child' : 'ses_otherchild'))
    for (let n = 0; n < 20; n += 1) await ticks()
    expect(outlet.seqs()).toEqual(numbers(1, 750).map((n) => n * 2))
  })

  test('a session that comes later is known by its parent, without asking', async () => {
    const log = logOf([], 'at once')
    const { outlet, follower } = following(log, { sight: sight() })
    follower.start(0, null)
    asked = 0
    const created = (seq: number, session: SessionId, parent: SessionId | null): StoredEvent => ({
      seq,
      at: 0,
      event: {
        type: 'session.created',
        session,
        turn: null,
        agent: 'a',
        kind: 'persistent',
        parent,
        cwd: '/',
        title: '',
        model: null,
        flow: null,
      } as StoredEvent['event'],
    })
    log.append(
      created(1, 'ses_new', 'ses_own'),
      created(2, 'ses_strange', null),
      created(3, 'ses_newer', 'ses_new'),
      notice(4, 'ses_newer'),
      notice(5, 'ses_strange'),
    )
    expect(outlet.seqs()).toEqual([1, 3, 4])
    expect(asked).toBe(0)
    log.delta({ session: 'ses_strange', turn: 'turn_1', epoch: 1, step: 1, offset: 0, text: 'secret' })
    log.delta({ session: 'ses_newer', turn: 'turn_1', epoch: 1, step: 1, offset: 0, text: 'shown' })
    expect(outlet.sent.at(-1)).toContain('shown')
    expect(outlet.sent.join()).not.toContain('secret')
  })

  test('a look-up that fails ends the listener, and shows nothing', async () => {
    const log = logOf([notice(1, 'ses_other')])
    const { outlet, follower, faults } = following(log, {
      sight: createSight(
        { session: () => Promise.reject(new Error('disk')) },
        { kind: 'session', session: 'ses_own' },
      ),
    })
    follower.start(0, null)
    await ticks()
    expect([outlet.sent, faults.length, log.listeners()]).toEqual([[], 1, 0])
  })
})
