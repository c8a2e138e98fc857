import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cancelTurn, endCall, endTurn, type Progress, type ProgressOf, type TurnResult } from './end.ts'
import { Event, type EventOf, type EventType, type Outcome } from './event.ts'
import type { BelowRow, TurnFacts, TurnRow } from './facts.ts'
import { limitsDefault } from './limits.ts'
import { byteLength } from './text.ts'
import { sessionRow, turnRow } from '../../test/kits/calls.ts'

const now = 5000
const said: Progress = {
  output: 'so far',
  tokensUsed: 77,
  tokensBelow: 3,
  toolCalls: ['read'],
  iterations: 2,
}
const silent: ProgressOf = () => undefined
const result = (more: Partial<TurnResult> = {}): TurnResult => ({
  outcome: 'completed',
  output: 'done',
  error: null,
  iterations: 3,
  toolCalls: ['read'],
  tokensUsed: 40,
  tokensBelow: 0,
  entry: null,
  ...more,
})

const facts = (more: Partial<TurnRow> = {}, kind: 'ephemeral' | 'persistent' = 'ephemeral'): TurnFacts => ({
  turn: turnRow({ tokensBelow: 0, ...more }),
  session: sessionRow({ kind }),
})
const call = (more: Partial<NonNullable<TurnRow['call']>> = {}): NonNullable<TurnRow['call']> => ({
  ...(turnRow().call as NonNullable<TurnRow['call']>),
  ...more,
})

/** A pending call below. */
const below = (name: string, more: Partial<TurnRow> = {}): BelowRow => ({
  turn: turnRow({
    id: `turn_${name}`,
    session: `ses_${name}`,
    call: call({ id: `call_${name}`, caller: 'ses_caller', callerTurn: 'turn_caller' }),
    ...more,
  }),
  sessionKind: 'ephemeral',
})

const of = <T extends EventType>(events: readonly Event[], type: T): EventOf<T>[] =>
  events.filter((event): event is EventOf<T> => event.type === type)
const callsEnded = (events: readonly Event[]): string[] => of(events, 'call.ended').map((event) => event.call)
const stopped = (events: readonly Event[]): (string | null)[] =>
  of(events, 'turn.cancelled').map((event) => event.turn)

test('a turn that answers ends itself and its call, in this order', () => {
  const events = endTurn(facts(), [], result(), silent, now, limitsDefault)
  expect(events.map(({ type }) => type)).toEqual(['turn.ended', 'call.ended'])
  expect(of(events, 'call.ended')[0]).toMatchObject({
    session: 'ses_root',
    turn: 'turn_root',
    call: 'call_caller',
    target: 'ses_caller',
    outcome: 'completed',
    output: 'done',
    errors: [],
    tokensUsed: 40,
    endedAt: now,
    toolCalls: ['read'],
    iterations: 3,
  })
  for (const event of events) expect(Event.parse(event)).toEqual(event)
})

test('a turn of a message ends itself, and keeps its output, which no call has', () => {
  const events = endTurn(facts({ call: null }), [], result(), silent, now, limitsDefault)
  expect(events).toMatchObject([{ type: 'turn.ended', output: 'done' }])
})

test("a call's tokens include what its own calls used", () => {
  expect(
    of(endTurn(facts(), [], result({ tokensBelow: 60 }), silent, now, limitsDefault), 'call.ended')[0]
      ?.tokensUsed,
  ).toBe(100)
})

test("a conversation grows by a persistent session's turn only", () => {
  const entry = {
    n: 1,
    asked: 'a',
    askedTokens: 1,
    from: null,
    startedAt: 0,
    answered: 'b',
    answeredTokens: 1,
  }
  expect(
    of(endTurn(facts({}, 'persistent'), [], result({ entry }), silent, now, limitsDefault), 'turn.ended')[0]
      ?.entry,
  ).toEqual(entry)
  expect(
    of(endTurn(facts({}, 'ephemeral'), [], result({ entry }), silent, now, limitsDefault), 'turn.ended')[0]
      ?.entry,
  ).toBeNull()
})

test('R3: a call that has ended never ends again, by whatever way', () => {
  fc.assert(
    fc.property(
      fc.constantFrom<Outcome>('completed', 'timed_out', 'cancelled', 'failed', 'lost'),
      fc.constantFrom<Outcome>('completed', 'timed_out', 'cancelled'),
      fc.constantFrom('ephemeral' as const, 'persistent' as const),
      fc.constantFrom('running' as const, 'ended' as const),
      (was, next, kind, state) => {
        const ended = facts({ state, call: call({ pending: false, outcome: was }) }, kind)
        const events = [
          ...endTurn(ended, [], result({ outcome: next }), silent, now, limitsDefault),
          ...endCall(ended, [], next, 'e', 'c', silent, now, limitsDefault),
          ...cancelTurn(ended, [], 'cancelled', 'c', silent, now, limitsDefault),
        ]
        expect(of(events, 'call.ended')).toEqual([])
      },
    ),
  )
})

test('R3: a call that has ended is not ended again as one below another', () => {
  const row = below('b', { call: call({ id: 'call_b', pending: false, outcome: 'timed_out' }) })
  const events = endTurn(facts(), [row], result(), silent, now, limitsDefault)
  expect(callsEnded(events)).toEqual(['call_caller'])
  expect(stopped(events)).toEqual(['turn_b'])
})

const rows = fc
  .array(fc.tuple(fc.constantFrom('queued' as const, 'running' as const), fc.boolean()), { maxLength: 6 })
  .map((made) =>
    made.map(([state, stopping], n) =>
      below(`b${n}`, { state, stopping: stopping && state === 'running' ? 'cancelled' : null }),
    ),
  )

test('R3: everything pending below ends in the same decision, once, and what runs of it is told to stop, once', () => {
  fc.assert(
    fc.property(rows, (some) => {
      const endings = [
        endTurn(facts(), some, result(), silent, now, limitsDefault),
        endCall(facts(), some, 'timed_out', 'e', 'deadline', silent, now, limitsDefault),
        cancelTurn(facts(), some, 'cancelled', 'asked', silent, now, limitsDefault),
        cancelTurn(facts({ call: null }), some, 'cancelled', 'asked', silent, now, limitsDefault),
      ]
      for (const events of endings) {
        expect(callsEnded(events).filter((id) => id !== 'call_caller')).toEqual(
          some.map(({ turn }) => turn.call?.id),
        )
        expect(stopped(events).filter((id) => id !== 'turn_caller')).toEqual(
          some
            .filter(({ turn }) => turn.state === 'running' && turn.stopping === null)
            .map(({ turn }) => turn.id),
        )
        for (const event of of(events, 'call.ended').filter(({ call: id }) => id !== 'call_caller'))
          expect(event).toMatchObject({
            outcome: 'cancelled',
            errors: [expect.stringMatching(/ended|stopped/)],
          })
      }
    }),
  )
})

test('R4: the deadline ends the call with what was said so far', () => {
  const events = endCall(
    facts(),
    [],
    'timed_out',
    'timed_out: 30 s',
    'deadline',
    (turn) => (turn === 'turn_caller' ? said : undefined),
    now,
    limitsDefault,
  )
  expect(of(events, 'call.ended')[0]).toMatchObject({
    outcome: 'timed_out',
    output: 'so far',
    errors: ['timed_out: 30 s'],
    tokensUsed: 80,
    toolCalls: ['read'],
    iterations: 2,
    cause: 'deadline',
  })
})

test('R4: where nobody knows what was said, the call ends all the same', () => {
  expect(
    of(endCall(facts(), [], 'lost', 'e', 'c', silent, now, limitsDefault), 'call.ended')[0],
  ).toMatchObject({ outcome: 'lost', output: '', toolCalls: [], truncated: false })
})

test("after its deadline a persistent session's turn goes on, and a child is told to stop", () => {
  expect(
    stopped(endCall(facts({}, 'persistent'), [], 'timed_out', 'e', 'c', silent, now, limitsDefault)),
  ).toEqual([])
  expect(
    stopped(endCall(facts({}, 'ephemeral'), [], 'timed_out', 'e', 'c', silent, now, limitsDefault)),
  ).toEqual(['turn_caller'])
  expect(
    stopped(endCall(facts({}, 'persistent'), [], 'cancelled', 'e', 'c', silent, now, limitsDefault)),
  ).toEqual(['turn_caller'])
})

test('a turn that is queued or stopping already is not told to stop again', () => {
  expect(
    stopped(endCall(facts({ state: 'queued' }), [], 'timed_out', 'e', 'c', silent, now, limitsDefault)),
  ).toEqual([])
  expect(
    stopped(endCall(facts({ stopping: 'cancelled' }), [], 'timed_out', 'e', 'c', silent, now, limitsDefault)),
  ).toEqual([])
  expect(
    cancelTurn(facts({ stopping: 'cancelled' }), [below('b')], 'cancelled', 'c', silent, now, limitsDefault),
  ).toEqual([])
  expect(
    cancelTurn(facts({ state: 'ended' }), [below('b')], 'cancelled', 'c', silent, now, limitsDefault),
  ).toEqual([])
})

test('R3: the late result of a persistent session becomes a notice to its caller, and of nothing else', () => {
  const late = (
    was: Outcome,
    outcome: Outcome,
    kind: 'ephemeral' | 'persistent',
  ): EventOf<'notice.raised'>[] =>
    of(
      endTurn(
        facts({ call: call({ pending: false, outcome: was }) }, kind),
        [],
        result({ outcome }),
        silent,
        now,
        limitsDefault,
      ),
      'notice.raised',
    )
  expect(late('timed_out', 'completed', 'persistent')).toMatchObject([
    { session: 'ses_root', about: 'call_caller', text: expect.stringContaining('done') },
  ])
  expect([
    late('cancelled', 'completed', 'persistent'),
    late('timed_out', 'failed', 'persistent'),
    late('timed_out', 'completed', 'ephemeral'),
  ]).toEqual([[], [], []])
})

test('cancelling a running turn ends its call and tells it to stop; the turn ends when its driver has', () => {
  const events = cancelTurn(facts(), [], 'cancelled', 'the user asked', () => said, now, limitsDefault)
  expect(events.map(({ type }) => type)).toEqual(['call.ended', 'turn.cancelled'])
  expect(events[0]).toMatchObject({
    outcome: 'cancelled',
    output: 'so far',
    errors: ['cancelled: the user asked'],
  })
})

test('cancelling a queued turn ends it at once: with its call, or by itself where it serves none', () => {
  expect(
    cancelTurn(facts({ state: 'queued' }), [], 'cancelled', 'c', silent, now, limitsDefault).map(
      ({ type }) => type,
    ),
  ).toEqual(['call.ended'])
  expect(
    cancelTurn(facts({ state: 'queued', call: null }), [], 'cancelled', 'c', silent, now, limitsDefault),
  ).toMatchObject([{ type: 'turn.ended', outcome: 'cancelled', error: 'c' }])
})

test('R11: a result is stored within its bytes, cut at a code point, and its whole size is recorded', () => {
  const limits = { ...limitsDefault, resultBytesMax: 10 }
  const output = '😀'.repeat(5)
  const [ended] = of(endTurn(facts(), [], result({ output }), silent, now, limits), 'call.ended')
  expect(ended).toMatchObject({ output: '😀😀', truncated: true, outputBytes: 20 })
  const [own] = of(endTurn(facts({ call: null }), [], result({ output }), silent, now, limits), 'turn.ended')
  expect(byteLength(own?.output ?? '')).toBe(8)
})
