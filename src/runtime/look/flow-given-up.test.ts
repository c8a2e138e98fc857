import { expect, test } from 'vitest'
import type { Event, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { EventFilter, Store } from '../kernel/store-port.ts'
import { readFlowEvents } from './flow.ts'

const stored = (seq: number, type: Event['type'], name: string): StoredEvent => ({
  seq,
  at: seq,
  event: { type, session: `ses_${name}`, turn: `turn_${name}` } as unknown as Event,
})

const row = (name: string, openedSeq: number, endedSeq: number, outcome: string | null): TurnRow =>
  ({
    id: `turn_${name}`,
    session: `ses_${name}`,
    flow: 'flow_a',
    state: 'ended',
    call: outcome === null ? null : { outcome },
    openedSeq,
    endedSeq,
  }) as unknown as TurnRow

test('the events of a flow have the end of a turn that went on long after its call was given up', async () => {
  const log = [
    stored(1, 'message.sent', 'a'),
    stored(2, 'turn.started', 'b'),
    stored(10, 'turn.ended', 'a'),
    stored(200, 'turn.ended', 'b'),
    stored(300, 'turn.ended', 'other'),
  ]
  const store = {
    lastSeq: () => 300,
    event: async (seq: number) => log.find((one) => one.seq === seq) ?? null,
    turns: async () => [row('a', 1, 10, null), row('b', 2, 8, 'timed_out')],
    read: async (after: number, { sessions, types }: EventFilter, limit: number) => {
      const events = log
        .filter(({ seq, event }) => seq > after && sessions?.includes(event.session) !== false)
        .filter(({ event }) => types?.includes(event.type) !== false)
        .slice(0, limit)
      return { events, more: false, next: 300, units: 0 }
    },
  } as unknown as Store
  const page = await readFlowEvents(store, 'flow_a', 0, 100)
  expect([page?.events.map(({ seq }) => seq), page?.next]).toEqual([[1, 2, 10, 200], null])
})
