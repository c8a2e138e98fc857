import { expect, test } from 'vitest'
import { Stopped } from './faults.ts'

test('what tells a turn to stop has no stack, and takes that of others from nobody', () => {
  const stopped = new Stopped('timed_out')
  expect(stopped.message).toBe('the turn was stopped (timed_out)')
  expect(stopped.stack).not.toContain('faults.test')
  expect(new Error('another').stack).toContain('faults.test')
})
