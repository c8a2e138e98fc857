import { expect, test } from 'vitest'
import { explain, type Refusal, type RefusalCode } from './refusal.ts'
import { refusalHeaders, refusalStatus, toWireError } from './refusal-on-wire.ts'

const codes = (status: number): string[] =>
  Object.keys(refusalStatus).filter((code) => refusalStatus[code as RefusalCode] === status)

test('each code has its status', () => {
  expect(codes(400)).toEqual(['bad_input', 'self_call', 'reply_not_addressed'])
  expect(codes(401)).toEqual(['not_authenticated'])
  expect(codes(403)).toEqual(['not_allowed', 'tool_disabled', 'message_not_yours'])
  expect(codes(404)).toEqual([
    'agent_unknown',
    'session_unknown',
    'message_unknown',
    'call_unknown',
    'question_unknown',
  ])
  expect(codes(413)).toEqual(['too_large', 'context_too_large'])
  expect(codes(422)).toEqual(['output_invalid'])
  expect(codes(429)).toEqual([
    'too_many_calls',
    'queue_full',
    'too_many_descendants',
    'too_many_agents',
    'rate_limited',
    'budget_exhausted',
  ])
  expect(codes(503)).toEqual(['store_unavailable'])
  expect(codes(409).join(' ')).toBe(
    'project_untrusted session_ambiguous session_busy cannot_restrict agent_unavailable call_cycle call_deadlock ' +
      'call_too_deep call_ended task_repeated message_already_sent message_changed message_taken flow_expired ' +
      'question_answered',
  )
})

const badField: Refusal = { code: 'bad_input', field: 'task', given: 'nothing', expected: 'a text' }
const limited: Refusal = { code: 'rate_limited', what: 'calls', perMinute: 2, retryInMs: 1001 }

test('an error has its code, its words, its field where there is one, and its values', () => {
  expect(toWireError(badField)).toEqual({
    error: {
      code: 'bad_input',
      message: explain(badField),
      field: 'task',
      details: { field: 'task', given: 'nothing', expected: 'a text' },
    },
  })
  expect(toWireError({ code: 'self_call', agent: 'a' })).toEqual({
    error: {
      code: 'self_call',
      message: explain({ code: 'self_call', agent: 'a' }),
      details: { agent: 'a' },
    },
  })
})

test('an error without values has no details, unless the door adds some', () => {
  const bare: Refusal = { code: 'not_authenticated' }
  expect(Object.keys(toWireError(bare).error)).toEqual(['code', 'message'])
  expect(toWireError(bare, { door: 'x' }).error.details).toEqual({ door: 'x' })
  expect(toWireError({ code: 'self_call', agent: 'a' }, { door: 'x' }).error.details).toEqual({
    agent: 'a',
    door: 'x',
  })
})

const unavailable: Refusal = {
  code: 'store_unavailable',
  path: '/data',
  reason: 'the disk is full',
  cure: 'Free some.',
  freeBytes: null,
  retryInMs: 5000,
}

test.each<[string, Refusal, Record<string, string>]>([
  ['too often', limited, { 'retry-after': '2' }],
  ['too often, and soon again', { ...limited, retryInMs: 1 }, { 'retry-after': '1' }],
  ['too often, and at once again', { ...limited, retryInMs: 0 }, { 'retry-after': '1' }],
  ['the store is away', unavailable, { 'retry-after': '5' }],
  ['nobody is known', { code: 'not_authenticated' }, { 'www-authenticate': 'Bearer realm="tieline"' }],
  ['anything else', badField, {}],
])('the headers where it is %s', (_what, refusal, headers) => {
  expect(refusalHeaders(refusal)).toEqual(headers)
})
