import { describe, expect, test } from 'vitest'
import { ClientState, judgePresence, noClient, parseSpan, type Sign } from './presence.ts'

const sign = (more: Partial<Sign> = {}): Sign => ({
  state: 'idle',
  heardAt: 0,
  isAwaited: false,
  leftAt: null,
  ...more,
})
const hour = 3_600_000

test('P1: a session is closed when its program said so, whatever was heard of it', () => {
  expect(judgePresence(false, sign({ isAwaited: true }), 1)).toEqual({ state: 'closed', wakeable: false })
})

describe('P2: a session is away', () => {
  test('when this server has not heard of it', () => {
    expect(judgePresence(true, null, 1)).toEqual({ state: 'away', wakeable: false })
  })

  test('soon after its waiter has gone, but not while it works, and not between two asks', () => {
    const gone = sign({ leftAt: 0, heardAt: 0 })
    expect(judgePresence(true, gone, 10_000).state).toBe('idle')
    expect(judgePresence(true, gone, 10_001).state).toBe('away')
    expect(judgePresence(true, { ...gone, state: 'working' }, 10_001).state).toBe('working')
  })

  test('when nothing was heard of it for an hour and nobody waits', () => {
    expect(judgePresence(true, sign({ state: 'working' }), hour).state).toBe('working')
    expect(judgePresence(true, sign({ state: 'working' }), hour + 1).state).toBe('away')
    expect(judgePresence(true, sign({ isAwaited: true }), hour + 1).state).toBe('idle')
  })
})

test('P3: only a session with a waiter can be woken', () => {
  expect(judgePresence(true, sign(), 1).wakeable).toBe(false)
  expect(judgePresence(true, sign({ isAwaited: true }), 1).wakeable).toBe(true)
})

test('times are a number and a unit', () => {
  expect(['90s', '30m', '2h', '1d', ' 2 h '].map(parseSpan)).toEqual([
    90_000,
    1_800_000,
    2 * hour,
    24 * hour,
    2 * hour,
  ])
  expect(['', '2', 'h', '-1h', '1w', '1.5h'].map(parseSpan)).toEqual([null, null, null, null, null, null])
})

test('a session that nobody knows has no program, and is neither open nor quiet', () => {
  expect(noClient).toEqual({ program: '', open: false, quietUntil: 0 })
  expect(ClientState.options).toEqual(['working', 'idle', 'away', 'closed'])
})

test('a time has one unit and at most six digits, and nothing around it', () => {
  expect(['999999s', '1  h', '1234567s', 'x1h', '1hx', '1h 2m', '0s'].map(parseSpan)).toEqual([
    999_999_000,
    null,
    null,
    null,
    null,
    null,
    0,
  ])
})

test('P2: an idle session whose waiter has not gone is there, however long it waits', () => {
  expect(judgePresence(true, sign({ leftAt: null, heardAt: 0 }), 20_000)).toEqual({
    state: 'idle',
    wakeable: false,
  })
  expect(judgePresence(true, sign({ leftAt: 5000, heardAt: 0, isAwaited: true }), 30_000)).toEqual({
    state: 'idle',
    wakeable: true,
  })
})

test('P2: what counts is how long ago it was, not the time of day', () => {
  const now = 1_800_000_000_000
  expect(judgePresence(true, sign({ heardAt: now - 1000, leftAt: now - 5000 }), now).state).toBe('idle')
  expect(judgePresence(true, sign({ heardAt: now - 1000, leftAt: now - 11_000 }), now).state).toBe('away')
})
