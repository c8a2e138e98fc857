import { expect, test } from 'vitest'
import { turnRow } from '../../test/kits/calls.ts'
import { describeTimeout } from './timeout-words.ts'

const timed = (tool: string, boundBy: Parameters<typeof describeTimeout>[0]['boundBy'], ms = 5000): string =>
  describeTimeout(
    {
      tool,
      deadline: 1000 + ms,
      boundBy,
      grant: { ...turnRow().grant, agent: 'writer' },
      requested: {},
    },
    1000,
    9000,
  )

test.each([
  ['request', 'timed_out: no answer within 5 s, as timeout_seconds says; timeout_seconds may be up to 9'],
  ['default', 'timed_out: no answer within 5 s, the default of sub_agent; timeout_seconds may be up to 9'],
  [
    'callee',
    'timed_out: no answer within 5 s, the limit of writer itself: a larger timeout_seconds would not help',
  ],
  ['ceiling', 'timed_out: no answer within 5 s, the most that a call may take here'],
  [
    'caller',
    'timed_out: no answer within 5 s, all that was left of your own time: a larger timeout_seconds would not help',
  ],
  [undefined, 'timed_out: no answer within 5 s, as timeout_seconds says; timeout_seconds may be up to 9'],
] as const)('a timeout bound by %s says so, and what would help', (boundBy, words) => {
  expect(timed('sub_agent', boundBy)).toBe(words)
})

test('call_agent speaks of milliseconds', () => {
  expect(timed('call_agent', 'request')).toBe(
    'timed_out: no answer within 5000 ms, as timeout_ms says; timeout_ms may be up to 9000',
  )
})

test('a caller that had the most that there is reads of no more', () => {
  expect(timed('subagent', 'request', 8999)).toBe(
    'timed_out: no answer within 8.999 s, as timeout_seconds says; timeout_seconds may be up to 9',
  )
  expect(timed('subagent', 'request', 9000)).toBe('timed_out: no answer within 9 s, as timeout_seconds says')
  expect(timed('call_agent', 'default', 9001)).toBe(
    'timed_out: no answer within 9001 ms, the default of call_agent',
  )
})
