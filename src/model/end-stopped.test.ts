import { expect, test } from 'vitest'
import { asStopped, endTurn, type TurnResult } from './end.ts'
import type { Event, EventOf, EventType } from './event.ts'
import type { TurnFacts, TurnRow } from './facts.ts'
import { limitsDefault } from './limits.ts'
import { sessionRow, turnRow } from '../../test/kits/calls.ts'

const result = (more: Partial<TurnResult> = {}): TurnResult => ({
  outcome: 'completed',
  output: 'done',
  error: null,
  iterations: 3,
  toolCalls: [],
  tokensUsed: 40,
  tokensBelow: 0,
  entry: null,
  ...more,
})

const of = <T extends EventType>(events: readonly Event[], type: T): EventOf<T>[] =>
  events.filter((event): event is EventOf<T> => event.type === type)

test('R3: a root that was told to stop ends so, also if its driver was done first; what it said is kept', () => {
  const end = (more: Partial<TurnRow>, kind: 'persistent' | 'external' = 'persistent', given = result()) => {
    const mine: TurnFacts = { turn: turnRow(more), session: sessionRow({ kind, parent: 'ses_parent' }) }
    return endTurn(mine, [], asStopped(mine, given), () => undefined, 5000, limitsDefault)
  }
  const root = { call: null, stopping: 'cancelled' } as const
  expect(of(end(root), 'turn.ended')).toMatchObject([
    { outcome: 'cancelled', output: 'done', error: 'cancelled: the turn was stopped' },
  ])
  expect(of(end(root), 'notice.raised')).toEqual([])
  expect(of(end({ call: null, stopping: 'timed_out' }), 'notice.raised')).toHaveLength(1)
  const failed = result({ outcome: 'failed', error: 'x' })
  expect(of(end(root, 'persistent', failed), 'turn.ended')).toMatchObject([
    { outcome: 'cancelled', error: 'x' },
  ])
  // What a call found out after its end, and what the tool of a client answered, is on record as it was.
  expect(of(end({ stopping: 'timed_out' }), 'turn.ended')).toMatchObject([{ outcome: 'completed' }])
  expect(of(end(root, 'external'), 'turn.ended')).toMatchObject([{ outcome: 'completed' }])
})
