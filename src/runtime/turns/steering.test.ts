import { expect, test } from 'vitest'
import type { Running } from '../kernel/running.ts'
import type { Runtime } from './runtime.ts'
import { createSteering } from './steering.ts'

test('a turn that would end is given what waits first, and takes no word from then on', async () => {
  const word = { type: 'call.steered', turn: 'turn_1', from: null, text: 'and this' }
  const runtime = {
    store: { read: async () => ({ events: [{ seq: 1, at: 0, event: word }], more: false, next: 1 }) },
    clock: { now: () => 0 },
  } as unknown as Runtime
  const running = {
    row: { id: 'turn_1', session: 'ses_1', openedSeq: 1 },
    input: {},
    recorded: null,
    buffer: [],
    abort: new AbortController(),
    steering: { looks: true, given: 0, coming: 0, isTaking: false, isClosed: false, hear: null },
  } as unknown as Running
  const steering = createSteering(runtime, running)
  expect(await steering.take('end-1', true)).toEqual(['and this'])
  expect([running.steering.isClosed, running.buffer.length]).toEqual([false, 1])
  running.steering.looks = true
  expect(await steering.take('end-2', true)).toEqual([])
  expect(running.steering.isClosed).toBe(true)
})
