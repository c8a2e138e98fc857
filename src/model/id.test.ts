import { expect, test } from 'vitest'
import {
  CallId,
  callsBelow,
  cancelKey,
  FlowId,
  isCallId,
  isSessionId,
  MessageId,
  NodeId,
  SessionId,
  steerActKey,
  toCallId,
  toTurnId,
  TurnId,
} from './id.ts'

test.each([
  ['ses', SessionId],
  ['turn', TurnId],
  ['call', CallId],
  ['flow', FlowId],
  ['node', NodeId],
])('an id of the kind %s begins with it, and has from 1 to 128 characters more', (kind, schema) => {
  const is = (text: string): boolean => schema.safeParse(text).success
  expect(is(`${kind}_1`)).toBe(true)
  expect(is(`${kind}_${'x'.repeat(128)}`)).toBe(true)
  expect(is(`${kind}_${'x'.repeat(129)}`)).toBe(false)
  expect(is(`${kind}_`)).toBe(false)
  expect(is(kind)).toBe(false)
  expect(is('other_1')).toBe(false)
  expect(is(`x${kind}_1`)).toBe(false)
})

test('the id of a message is any text of 1 to 132 characters', () => {
  expect([0, 1, 132, 133].map((length) => MessageId.safeParse('x'.repeat(length)).success)).toEqual([
    false,
    true,
    true,
    false,
  ])
})

test('a call and its turn share what follows the kind', () => {
  expect(toTurnId('call_42')).toBe('turn_42')
  expect(toCallId('turn_42')).toBe('call_42')
})

test('the session of the calls of a session is named after it', () => {
  expect(callsBelow('ses_42')).toBe('ses_calls-42')
})

test('a kind alone is no id', () => {
  expect(['ses_1', 'ses_', 'xses_1', 'call_1', ''].map(isSessionId)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ])
  expect(['call_1', 'call_', 'xcall_1', 'ses_1', ''].map(isCallId)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ])
})

test('acts that may be tried again are remembered by kind', () => {
  expect(cancelKey('a')).toBe('cancel:a')
  expect(steerActKey('a')).toBe('steer:a')
})
