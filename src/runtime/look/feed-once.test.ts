/** The feed gives each event once, and only to those it concerns. */
import { expect, test } from 'vitest'
import type { Event, StoredEvent } from '../../model/event.ts'
import type { Runtime } from './runtime.ts'
import type { Hint } from '../kernel/store-port.ts'
import { createFeed } from './feed.ts'

const renamed = (session: `ses_${string}`): Event => ({
  type: 'session.renamed',
  session,
  turn: null,
  title: 't',
})

function createLog() {
  let hear: (hints: readonly Hint[]) => void = () => undefined
  const log: StoredEvent[] = []
  const runtime = {
    store: {
      lastSeq: () => log.length,
      onHint: (listener: typeof hear) => ((hear = listener), () => undefined),
      read: async (after: number, _filter: object, limit: number) => ({
        events: log.slice(after, after + limit),
        next: Math.min(after + limit, log.length),
        units: 0,
      }),
    },
    clock: { sleep: async () => undefined },
    deltaListeners: new Set(),
    running: new Map(),
    stopping: new AbortController(),
    report: (fault: unknown) => {
      throw fault
    },
  } as unknown as Runtime
  const append = (...events: Event[]): Hint => {
    const first = log.length + 1
    log.push(...events.map((event, index) => ({ seq: first + index, at: 0, event })))
    return { kind: 'appended', first, at: 0, events }
  }
  const follow = (sessions: `ses_${string}`[] | null) => {
    const seqs: number[] = []
    const sink = {
      events: (events: readonly StoredEvent[]) => void seqs.push(...events.map(({ seq }) => seq)),
      delta: () => undefined,
    }
    return { seqs, stop: feed.subscribe(log.length, { sessions }, sink) }
  }
  const feed = createFeed(runtime)
  const settle = () => new Promise((resolve) => setTimeout(resolve, 5))
  return { append, follow, settle, hear: (hint: Hint) => hear([hint]) }
}

test('a hint that comes twice, or late, gives no event twice, and one that is lost leaves no gap', async () => {
  const { append, follow, settle, hear } = createLog()
  const { seqs, stop } = follow(null)
  const one = append(renamed('ses_a'))
  hear(one)
  hear(one)
  const lost = append(renamed('ses_a'), renamed('ses_a'))
  const four = append(renamed('ses_a'))
  hear(four)
  await settle()
  hear(lost)
  hear(four)
  await settle()
  expect(seqs).toEqual([1, 2, 3, 4])
  stop()
  hear(append(renamed('ses_a')))
  await settle()
  expect(seqs).toHaveLength(4)
})

test('who follows some sessions gets the events of those, live and while catching up', async () => {
  const { append, follow, settle, hear } = createLog()
  const { seqs } = follow(['ses_b'])
  hear(append(renamed('ses_a'), renamed('ses_b')))
  append(renamed('ses_b'))
  hear(append(renamed('ses_a'), renamed('ses_b')))
  await settle()
  expect(seqs).toEqual([2, 3, 5])
})

test('a hint without events makes everybody read the log, and they go on live afterwards', async () => {
  const { append, follow, settle, hear } = createLog()
  const [all, one] = [follow(null), follow(['ses_b'])]
  hear(append(renamed('ses_a')))
  append(renamed('ses_b'))
  hear({ kind: 'appended' })
  await settle()
  hear(append(renamed('ses_b')))
  hear(append(renamed('ses_a')))
  expect([all.seqs, one.seqs]).toEqual([
    [1, 2, 3, 4],
    [2, 3],
  ])
})

test('whoever comes while others are told gets what comes after its place, and nothing before', async () => {
  const { append, follow, hear } = createLog()
  const first = follow(null)
  hear(append(renamed('ses_a')))
  const two = append(renamed('ses_a'))
  // The log has it already, and the hint of it is still to come.
  const late = follow(null)
  hear(two)
  hear(append(renamed('ses_a')))
  expect([first.seqs, late.seqs]).toEqual([[1, 2, 3], [3]])
})
