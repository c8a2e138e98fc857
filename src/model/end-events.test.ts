/** What an end records, field by field: others read these events years later. */
import { expect, test } from 'vitest'
import { cancelTurn, endCall, endTurn, type ProgressOf, type TurnResult } from './end.ts'
import type { BelowRow, SessionRow, TurnFacts, TurnRow } from './facts.ts'
import { callsBelow } from './id.ts'
import { limitsDefault } from './limits.ts'
import { sessionRow, turnRow } from '../../test/kits/calls.ts'

const now = 5000
const silent: ProgressOf = () => undefined
const result = (more: Partial<TurnResult> = {}): TurnResult => ({
  outcome: 'completed',
  output: 'done',
  error: null,
  iterations: 3,
  toolCalls: ['read', 'write'],
  tokensUsed: 40,
  tokensBelow: 7,
  entry: null,
  ...more,
})
const facts = (turn: Partial<TurnRow> = {}, session: Partial<SessionRow> = {}): TurnFacts => ({
  turn: turnRow({ openedAt: 1000, ...turn }),
  session: sessionRow(session),
})
const pending = turnRow().call as NonNullable<TurnRow['call']>
const end = (given: TurnFacts, more: Partial<TurnResult> = {}, heir: `ses_${string}` | null = null) =>
  endTurn(given, [], result(more), silent, now, limitsDefault, heir)
const below: BelowRow = {
  turn: turnRow({
    id: 'turn_below',
    session: 'ses_below',
    openedAt: 2000,
    call: { ...pending, id: 'call_below', caller: 'ses_caller', callerTurn: 'turn_caller' },
  }),
  sessionKind: 'ephemeral',
}

const answered = {
  type: 'call.ended',
  session: 'ses_root',
  turn: 'turn_root',
  call: 'call_caller',
  target: 'ses_caller',
  outcome: 'completed',
  output: 'done',
  outputBytes: 4,
  truncated: false,
  errors: [],
  toolCalls: ['read', 'write'],
  tokensUsed: 47,
  iterations: 3,
  openedAt: 1000,
  endedAt: now,
  cause: 'answered',
}
const turnEnded = {
  type: 'turn.ended',
  session: 'ses_caller',
  turn: 'turn_caller',
  outcome: 'completed',
  output: '',
  error: null,
  tokensUsed: 40,
  tokensBelow: 7,
  iterations: 3,
  toolCalls: ['read', 'write'],
  entry: null,
}

test('an answer is recorded with everything that it cost; the output stands in the call alone', () => {
  expect(end(facts())).toStrictEqual([turnEnded, answered])
  expect(end(facts({ call: null }))).toStrictEqual([{ ...turnEnded, output: 'done' }])
})

test('a failed call says why', () => {
  expect(end(facts(), { outcome: 'failed', error: 'it broke' })).toStrictEqual([
    { ...turnEnded, outcome: 'failed', error: 'it broke' },
    { ...answered, outcome: 'failed', errors: ['it broke'] },
  ])
})

test('the output of a client is never cut, that of an agent is', () => {
  const limits = { ...limitsDefault, resultBytesMax: 3 }
  const output = (kind: SessionRow['kind']) =>
    endTurn(facts({ call: null }, { kind }), [], result(), silent, now, limits)
  expect(output('external')).toMatchObject([{ output: 'done' }])
  expect(output('persistent')).not.toMatchObject([{ output: 'done' }])
})

test('a turn for the calls of a session ends the wait of that session', () => {
  const session = callsBelow('ses_caller')
  const [wait] = end(facts({ session, call: null }, { id: session, kind: 'external' }))
  expect(wait).toStrictEqual({
    type: 'wait.ended',
    session: 'ses_caller',
    turn: 'turn_caller',
    target: session,
    reason: 'the tool has answered',
  })
  expect(end(facts({ call: null, grant: { ...turnRow().grant, path: [] } }))).toHaveLength(1)
})

test('what comes after the deadline goes to the heir, or to the caller where there is none', () => {
  const late = facts({ call: { ...pending, pending: false, outcome: 'timed_out' } }, { kind: 'persistent' })
  const notice = {
    type: 'notice.raised',
    session: 'ses_root',
    turn: null,
    about: 'call_caller',
    text: 'caller finished after the deadline of call_caller:\ndone',
  }
  expect(end(late).at(-1)).toStrictEqual(notice)
  expect(end(late, {}, 'ses_heir').at(-1)).toStrictEqual({ ...notice, session: 'ses_heir' })
  expect(end(late, { outcome: 'failed' })).toHaveLength(1)
  expect(end(facts({ ...late.turn }, { kind: 'ephemeral' }))).toHaveLength(1)
})

test('the parent of a session hears when it fails on its own, and why', () => {
  const own = (outcome: TurnResult['outcome'], error: string | null, more: Partial<SessionRow> = {}) =>
    end(facts({ call: null }, { kind: 'persistent', parent: 'ses_parent', ...more }), { outcome, error })
  const notice = { type: 'notice.raised', session: 'ses_parent', turn: null, about: 'ses_caller' }
  expect(own('failed', 'it broke').at(-1)).toStrictEqual({
    ...notice,
    text: 'caller in ses_caller ended failed: it broke',
  })
  expect(own('lost', null).at(-1)).toStrictEqual({
    ...notice,
    text: 'caller in ses_caller ended lost: no reason was given',
  })
  for (const quiet of [
    own('completed', null),
    own('cancelled', 'stopped'),
    own('failed', 'it broke', { parent: null }),
    own('failed', 'it broke', { kind: 'external' }),
  ])
    expect(quiet.map(({ type }) => type)).toEqual(['turn.ended'])
})

test('a deadline ends the call with what is known, and everything below, and tells the turn to stop', () => {
  const said = { output: 'so far', tokensUsed: 5, tokensBelow: 6, toolCalls: ['read'], iterations: 2 }
  const progress: ProgressOf = (turn) => (turn === 'turn_caller' ? said : undefined)
  const why = 'the call above it ended (timed_out)'
  expect(
    endCall(facts(), [below], 'timed_out', 'too late', 'deadline', progress, now, limitsDefault),
  ).toStrictEqual([
    {
      ...answered,
      session: 'ses_caller',
      turn: 'turn_caller',
      call: 'call_below',
      target: 'ses_below',
      outcome: 'cancelled',
      output: '',
      outputBytes: 0,
      errors: [`cancelled: ${why}: deadline`],
      toolCalls: [],
      tokensUsed: 0,
      iterations: 0,
      openedAt: 2000,
      cause: why,
    },
    { type: 'turn.cancelled', session: 'ses_below', turn: 'turn_below', outcome: 'cancelled', cause: why },
    {
      ...answered,
      outcome: 'timed_out',
      output: 'so far',
      outputBytes: 6,
      errors: ['too late'],
      toolCalls: ['read'],
      tokensUsed: 11,
      iterations: 2,
      cause: 'deadline',
    },
    {
      type: 'turn.cancelled',
      session: 'ses_caller',
      turn: 'turn_caller',
      outcome: 'timed_out',
      cause: 'deadline',
    },
  ])
})

test('a queued message that is cancelled ends without having run', () => {
  const queued = facts({ call: null, state: 'queued' })
  expect(cancelTurn(queued, [], 'cancelled', 'a person', silent, now, limitsDefault)).toStrictEqual([
    {
      ...turnEnded,
      outcome: 'cancelled',
      error: 'a person',
      tokensUsed: 0,
      tokensBelow: 0,
      iterations: 0,
      toolCalls: [],
    },
  ])
})

test('what has ended below is not ended again', () => {
  const over: BelowRow = {
    ...below,
    turn: { ...below.turn, call: { ...pending, pending: false }, state: 'ended' },
  }
  const serving: BelowRow = { ...over, turn: { ...over.turn, call: null } }
  expect(endTurn(facts(), [over, serving], result(), silent, now, limitsDefault)).toStrictEqual([
    turnEnded,
    answered,
  ])
})

test('an end says to whom the work was moved', () => {
  const moved = { to: 'other', why: 'over its limit' } as unknown as NonNullable<TurnResult['moved']>
  expect(end(facts(), { moved })).toStrictEqual([
    { ...turnEnded, moved },
    { ...answered, moved },
  ])
})

test('what ends below says why what is above it ended', () => {
  const events = cancelTurn(facts(), [below], 'cancelled', 'the user said so', silent, now, limitsDefault)
  const ended = events.find((event) => event.type === 'call.ended' && event.call === 'call_below')
  expect(ended).toMatchObject({ errors: [expect.stringMatching(/^cancelled: .*: the user said so$/)] })
})
