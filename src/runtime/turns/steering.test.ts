import { expect, test } from 'vitest'
import type { Running } from '../kernel/running.ts'
import type { Runtime } from './runtime.ts'
import { createSteering } from './steering.ts'

/** A turn to which something was said, and each look of it at the log. */
function steered(read: (steering: Running['steering'], looks: number) => readonly number[]) {
  const said = (seq: number) => ({
    seq,
    at: 0,
    event: { type: 'call.steered', turn: 'turn_1', from: null, text: `word ${seq}` },
  })
  let looks = 0
  const runtime = {
    store: {
      read: async () => ({ events: read(running.steering, (looks += 1)).map(said), more: false, next: 1 }),
    },
    clock: { now: () => 0 },
  } as unknown as Runtime
  const running = {
    row: { id: 'turn_1', session: 'ses_1', openedSeq: 1 },
    input: {},
    recorded: null,
    buffer: [],
    abort: new AbortController(),
    steering: { looks: true, given: new Set(), coming: 0, isTaking: false, isClosed: false, hear: null },
  } as unknown as Running
  return { running, steering: createSteering(runtime, running) }
}

test('a turn that would end is given what waits first, and takes no word from then on', async () => {
  const { running, steering } = steered(() => [2])
  expect(await steering.take('end-1', true)).toEqual(['word 2'])
  expect([running.steering.isClosed, running.buffer.length]).toEqual([false, 1])
  running.steering.looks = true
  expect(await steering.take('end-2', true)).toEqual([])
  expect(running.steering.isClosed).toBe(true)
})

test('a turn that goes on after an answer that was no end takes words again', async () => {
  const { running, steering } = steered((_, looks) => (looks === 1 ? [] : [2]))
  steering.begin()
  await steering.take('end-1', true)
  expect(running.steering.isClosed).toBe(true)
  steering.begin()
  expect(running.steering.isClosed).toBe(false)
  running.steering.looks = true
  expect(await steering.take('end-2', true)).toEqual(['word 2'])
})

test('a word that is said while the turn looks for words is not lost, and keeps it from ending', async () => {
  const { running, steering } = steered((state, looks) => {
    if (looks === 1) state.looks = true
    return looks === 1 ? [] : [2]
  })
  expect(await steering.take('end-1', true)).toEqual(['word 2'])
  expect(running.steering.isClosed).toBe(false)
})

test('which words were given is known, and not how many: the later one may have been given first', async () => {
  const { running, steering } = steered(() => [2, 3])
  running.steering.given.add(3)
  expect(await steering.take('round-1', false)).toEqual(['word 2'])
  running.steering.given.clear()
  running.recorded = {
    events: running.buffer.map((event, n) => ({ seq: n, at: 0, event })),
    step: () => undefined,
  } as unknown as Running['recorded']
  running.steering.looks = true
  expect(await steering.take('round-2', false)).toEqual(['word 3'])
})
