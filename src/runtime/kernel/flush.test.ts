/** Making the buffer of a turn durable: at once, or while the turn goes on. */
import { expect, test } from 'vitest'
import type { Activation } from '../../model/facts.ts'
import type { Event } from '../../model/event.ts'
import { createDaySpending } from './day-spending.ts'
import { Fenced, Stopped } from './faults.ts'
import { flush, flushSoon } from './flush.ts'
import type { Running } from './running.ts'
import type { Runtime } from './runtime.ts'
import type { Tx } from './store-port.ts'

const event = (title: string): Event => ({ type: 'session.renamed', session: 'ses_1', turn: null, title })

/** A turn with something in its buffer, and a store that says this of the turn. */
function turn(more: Partial<Activation> = {}) {
  const log: unknown[] = []
  const facts = { state: 'running', node: 'node_1', epoch: 2, stopping: null, ...more }
  const tx = {
    activation: async () => facts,
    append: (...events: Event[]) => log.push(...events.map((one) => 'title' in one && one.title)),
  } as unknown as Tx
  const runtime = {
    node: 'node_1',
    store: { transact: (_keys: unknown, work: (given: Tx) => Promise<unknown>) => work(tx) },
    spending: createDaySpending(),
    brokenOff: new Set(),
    unrecordedWaiters: new Map(),
  } as unknown as Runtime
  const running = {
    row: { id: 'turn_1', session: 'ses_1' },
    session: { cwd: '/' },
    epoch: 2,
    abort: new AbortController(),
    buffer: [event('one')],
    answerBuffered: true,
    commits: new Set(),
    flushing: null,
  } as unknown as Running
  return { runtime, running, log }
}

test('what waits is written with what is given, in this order', async () => {
  const { runtime, running, log } = turn()
  await flush(runtime, running, [event('two')])
  expect([log, running.buffer]).toEqual([['one', 'two'], []])
})

test('R3, R6: nothing is written for a turn that was told to stop, or that another has', async () => {
  for (const [facts, fault] of [
    [{ stopping: 'cancelled' }, Stopped],
    [{ epoch: 3 }, Fenced],
    [{ state: 'ended' }, Fenced],
  ] as [Partial<Activation>, typeof Fenced | typeof Stopped][]) {
    const { runtime, running, log } = turn(facts)
    await expect(flush(runtime, running)).rejects.toThrow(fault)
    flushSoon(runtime, running)
    await expect(running.flushing?.done).rejects.toThrow(fault)
    expect([log, running.buffer.length]).toEqual([[], 1])
  }
})

test('text that was held while the answer before it was written is shown when that is durable, in order', async () => {
  const { runtime, running, log } = turn()
  const shown: string[] = []
  flushSoon(runtime, running)
  for (const text of ['a', 'b'])
    running.flushing?.held?.push(() => shown.push(`${text} after ${String(log)}`))
  await running.flushing?.done
  expect(shown).toEqual(['a after one', 'b after one'])
  expect(running.flushing).toMatchObject({ begun: false, held: null })
})

test('text that was held is shown also where the answer could not be written', async () => {
  const { runtime, running } = turn({ epoch: 3 })
  const shown: string[] = []
  flushSoon(runtime, running)
  running.flushing?.held?.push(() => shown.push('a'))
  await running.flushing?.done.catch(() => undefined)
  expect(shown).toEqual(['a'])
})
