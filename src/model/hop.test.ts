import { expect, test } from 'vitest'
import { turnRow } from '../../test/kits/calls.ts'
import type { TurnRow } from './facts.ts'
import {
  checkDepth,
  checkDescendants,
  checkNested,
  checkQueue,
  checkRate,
  checkRunning,
  deadlinePassed,
} from './hop.ts'
import { limitsDefault } from './limits.ts'

test.each<[string, Partial<TurnRow>, string | null]>([
  ['runs', {}, null],
  ['is queued', { state: 'queued' }, 'your turn has ended'],
  ['has ended', { state: 'ended' }, 'your turn has ended'],
  ['was cancelled', { stopping: 'cancelled' }, 'your turn was cancelled'],
  ['was cancelled and has ended', { state: 'ended', stopping: 'cancelled' }, 'your turn has ended'],
])('R3, R6: a turn that %s calls out, or hears why not', (_what, turn, why) => {
  expect(checkRunning(turnRow(turn))).toEqual(why === null ? null : { code: 'call_ended', why })
})

test('the words for a deadline that has passed', () => {
  expect(deadlinePassed).toBe('your deadline has passed')
})

test('a call without nested calls takes every tool that calls', () => {
  const turn = turnRow()
  expect(checkNested(turn, 'sub_agent')).toBeNull()
  const alone = { ...turn, grant: { ...turn.grant, authority: { tools: null, nested: false } } }
  expect(checkNested(alone, 'sub_agent')).toEqual({
    code: 'tool_disabled',
    tool: 'sub_agent',
    why: 'this call was made with allow_nested_calls: false',
  })
})

test('R7: the last hop that a limit allows is allowed, and the next is not', () => {
  expect(checkDepth(5, 5, 'the server')).toBeNull()
  expect(checkDepth(6, 5, 'the server')).toEqual({
    code: 'call_too_deep',
    depth: 6,
    depthMax: 5,
    limit: 'the server',
  })
})

test('R11: a flow makes so many sessions, a session has so many inputs waiting, and no more', () => {
  const limits = { ...limitsDefault, descendantsPerFlowMax: 3 }
  expect(checkDescendants(2, limits)).toBeNull()
  expect(checkDescendants(3, limits)).toEqual({ code: 'too_many_descendants', created: 3, createdMax: 3 })
  expect(checkQueue('ses_1', 2, 3)).toBeNull()
  expect(checkQueue('ses_1', 3, 3)).toEqual({ code: 'queue_full', session: 'ses_1', queued: 3, queuedMax: 3 })
})

test.each<[number, number | null, number | null]>([
  [2, 900_000, null],
  [3, 990_000, 50_000],
  [3, 1_000_000, 60_000],
  [3, null, 60_000],
  [3, 1_010_000, 60_000],
  [3, 940_001, 1],
  [3, 940_000, 1],
  [3, 900_000, 1],
  [4, 990_000, 50_000],
])('R11: %i in the last minute, the oldest at %s: again in %s ms', (count, oldestAt, retryInMs) => {
  expect(checkRate('messages', { count, perMinute: 3 }, oldestAt, 1_000_000)).toEqual(
    retryInMs === null ? null : { code: 'rate_limited', what: 'messages', perMinute: 3, retryInMs },
  )
})
