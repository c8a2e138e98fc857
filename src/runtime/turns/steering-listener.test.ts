import { expect, test } from 'vitest'
import type { Running } from '../kernel/running.ts'
import type { Runtime } from './runtime.ts'
import { createSteering } from './steering.ts'

test('who stops to listen for words takes nobody off who listens since', () => {
  const running = { steering: { hear: null, isTaking: false, isClosed: true } } as unknown as Running
  const steering = createSteering({} as Runtime, running)
  const [first, second] = [async () => true, async () => false]
  const stopFirst = steering.onWord(first)
  const stopSecond = steering.onWord(second)
  stopFirst()
  expect(running.steering.hear).toBe(second)
  stopSecond()
  expect(running.steering.hear).toBeNull()
  steering.begin()
  expect(running.steering).toMatchObject({ isTaking: true, isClosed: false })
})
