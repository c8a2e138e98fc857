/** Text that streams, to those who follow: of their sessions only, and after the events that it is about. */
import { expect, test } from 'vitest'
import type { StoredEvent } from '../../model/event.ts'
import type { SessionId } from '../../model/id.ts'
import type { Delta } from '../../wire/log.ts'
import type { Hint } from '../kernel/store-port.ts'
import { createFeed } from './feed.ts'
import type { Runtime } from './runtime.ts'

const settle = async (): Promise<void> => {
  for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve))
}

const delta = (session: SessionId, text: string): Delta => ({
  session,
  turn: 'turn_1',
  epoch: 1,
  step: 1,
  offset: 0,
  text,
})

/** A turn in the middle of its step. */
const saying = (session: SessionId, said: string) => ({
  row: { session, id: 'turn_1' },
  epoch: 1,
  step: 1,
  said,
  stepOffset: said.length,
  answeredOffset: 0,
  answerBuffered: false,
  remark: '',
})

/** A log with this many events; who reads it waits until it is let go. */
function logOf(count: number) {
  const events = Array.from({ length: count }, (_, index): StoredEvent => ({
    seq: index + 1,
    at: 0,
    event: { type: 'session.renamed', session: 'ses_a', turn: null, title: 't' },
  }))
  let hold: Promise<void> = Promise.resolve()
  let hear: (hints: readonly Hint[]) => void = () => undefined
  const runtime = {
    store: {
      lastSeq: () => events.length,
      onHint: (listener: typeof hear) => ((hear = listener), () => undefined),
      async read(after: number, _filter: object, limit: number) {
        await hold
        const next = Math.min(after + limit, events.length)
        return { events: events.slice(after, next), next, units: 0 }
      },
    },
    clock: { sleep: async () => undefined },
    deltaListeners: new Set<(said: Delta) => void>(),
    running: new Map<string, unknown>(),
    stopping: new AbortController(),
    report: (fault: unknown) => {
      throw fault
    },
  } as unknown as Runtime
  const feed = createFeed(runtime)
  const follow = (after: number, sessions: SessionId[] | null) => {
    const heard: string[] = []
    const stop = feed.subscribe(
      after,
      { sessions },
      {
        events: (some) => void heard.push(...some.map(({ seq }) => String(seq))),
        delta: ({ text }) => void heard.push(text),
      },
    )
    return { heard, stop }
  }
  const say = (said: Delta): void => {
    for (const listener of runtime.deltaListeners) listener(said)
  }
  const append = (lost = false): void => {
    const first = events.length + 1
    const event = { type: 'session.renamed', session: 'ses_a', turn: null, title: 't' } as const
    events.push({ seq: first, at: 0, event })
    if (!lost) hear([{ kind: 'appended', first, at: 0, events: [event] }])
  }
  return { runtime, follow, say, append, holdWhile: (until: Promise<void>) => void (hold = until) }
}

test('who follows a session hears its text and no other, before and after it is up to date with all', async () => {
  const { runtime, follow, say, append } = logOf(0)
  const [one, all] = [follow(0, ['ses_a']), follow(0, null)]
  for (const place of ['apart', 'in the audience']) {
    say(delta('ses_a', `mine ${place}`))
    say(delta('ses_b', `other ${place}`))
    append()
    await settle()
  }
  expect(one.heard).toEqual(['mine apart', '1', 'mine in the audience', '2'])
  expect(all.heard).toHaveLength(6)
  one.stop()
  all.stop()
  expect(runtime.deltaListeners.size).toBe(0)
})

test('who comes in the middle of a step hears its beginning, if it follows that session', async () => {
  const { runtime, follow } = logOf(0)
  runtime.running.set('turn_1', saying('ses_a', 'half of it') as never)
  runtime.running.set('turn_2', saying('ses_b', 'something else') as never)
  const [one, all] = [follow(0, ['ses_a']), follow(0, null)]
  expect(one.heard).toEqual(['half of it'])
  expect(all.heard).toEqual(['half of it', 'something else'])
})

test('text that comes while somebody catches up is told after the events, once', async () => {
  const { runtime, follow, say, holdWhile } = logOf(3)
  const { promise, resolve } = Promise.withResolvers<void>()
  holdWhile(promise)
  const { heard } = follow(0, null)
  await settle()
  runtime.running.set('turn_1', saying('ses_a', 'so far') as never)
  say(delta('ses_a', 'so far'))
  expect(heard).toEqual([])
  resolve()
  await settle()
  expect(heard).toEqual(['1', '2', '3', 'so far'])
})

test('those who come late one after the other all catch up', async () => {
  const { follow } = logOf(20)
  for (let n = 0; n < 5; n += 1) {
    const { heard } = follow(0, null)
    await settle()
    expect(heard).toHaveLength(20)
  }
})

test('text that comes while somebody catches up again, behind a gap, is told after the events', async () => {
  const { runtime, follow, say, append, holdWhile } = logOf(0)
  const { heard } = follow(0, null)
  append()
  await settle()
  const { promise, resolve } = Promise.withResolvers<void>()
  holdWhile(promise)
  // The hint of the second was lost.
  append(true)
  append()
  await settle()
  runtime.running.set('turn_1', saying('ses_a', 'so far') as never)
  say(delta('ses_a', 'so far'))
  resolve()
  await settle()
  expect(heard).toEqual(['1', '2', '3', 'so far'])
})
