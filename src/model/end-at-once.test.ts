import { expect, test } from 'vitest'
import { sessionRow, turnRow } from '../../test/kits/calls.ts'
import { endAtOnce, endTurn, type TurnResult } from './end.ts'
import type { EventOf } from './event.ts'
import { limitsDefault } from './limits.ts'

test('a call that was given no time ends where it opens, and nothing of it ran', () => {
  const opened = {
    type: 'call.opened',
    session: 'ses_caller',
    turn: 'turn_caller',
    call: 'call_1',
    target: 'ses_target',
  } as unknown as EventOf<'call.opened'>
  expect(endAtOnce(opened, 'timed_out: no time', 7)).toEqual({
    type: 'call.ended',
    session: 'ses_caller',
    turn: 'turn_caller',
    call: 'call_1',
    target: 'ses_target',
    outcome: 'timed_out',
    output: '',
    outputBytes: 0,
    truncated: false,
    errors: ['timed_out: no time'],
    toolCalls: [],
    tokensUsed: 0,
    iterations: 0,
    openedAt: 7,
    endedAt: 7,
    cause: 'deadline',
  })
})

const result: TurnResult = {
  outcome: 'completed',
  output: 'done',
  error: null,
  iterations: 1,
  toolCalls: [],
  tokensUsed: 1,
  tokensBelow: 2,
  entry: null,
}
const end = (more: Partial<TurnResult>, call = turnRow().call) =>
  endTurn(
    { turn: turnRow({ call }), session: sessionRow() },
    [],
    { ...result, ...more },
    () => undefined,
    5,
    limitsDefault,
  )
const spent = (nanoUsd: number) => ({ nanoUsd, plan: 0, unpriced: 0 })

test('R7: what was spent below is recorded where it has a price, and the call has both', () => {
  const [turn, call] = end({ spent: spent(3), spentBelow: spent(4) })
  expect(turn).toMatchObject({ type: 'turn.ended', spent: spent(3), spentBelow: spent(4) })
  expect(call).toMatchObject({ type: 'call.ended', spent: spent(7) })
  const [free] = end({ spent: spent(0), spentBelow: spent(0) })
  expect(free).not.toHaveProperty('spent')
  expect(free).not.toHaveProperty('spentBelow')
  expect(end({ spentBelow: spent(1) })[0]).toMatchObject({ spentBelow: spent(1) })
})

test('a result for a client is raised as a notice on its own session', () => {
  const events = end({ notice: { about: 'call_9', text: 'it is done' } }, null)
  expect(events).toContainEqual({
    type: 'notice.raised',
    session: 'ses_caller',
    turn: null,
    about: 'call_9',
    text: 'it is done',
  })
  expect(end({}, null).map(({ type }) => type)).toEqual(['turn.ended'])
})
