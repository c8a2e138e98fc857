import { expect, test } from 'vitest'
import { inflightCalls } from './server-inflight.ts'

test('an id that was used again means the call that runs, also when the one before it ends', () => {
  const calls = inflightCalls()
  const key = { who: 'user', connection: 'c', id: 1 }
  const [first, second] = [calls.begin(key, []), calls.begin(key, [])]
  first.end()
  expect(calls.cancel(key)).toBe(true)
  expect([first.signal.aborted, second.signal.aborted]).toEqual([false, true])
  second.end()
  expect(calls.cancel(key)).toBe(false)
})
