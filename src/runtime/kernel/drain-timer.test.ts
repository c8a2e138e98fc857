import { expect, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { beginEffect, createDrain, endEffect, handOver } from './drain.ts'
import type { Runtime } from './runtime.ts'

test('a node whose effects end in time leaves no timer that its process would wait for', async () => {
  const clock = virtualClock()
  const runtime = { clock, drain: createDrain(), running: new Map() } as unknown as Runtime
  beginEffect(runtime)
  const over = handOver(runtime)
  endEffect(runtime)
  const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  await rest()
  expect(clock.tick()).toBe(true)
  await over
  await rest()
  expect(clock.tick()).toBe(false)
})
