import { expect, test } from 'vitest'
import { commit } from './commit.ts'
import { createDaySpending, payOfDay } from './day-spending.ts'
import { Fenced } from './faults.ts'
import type { Running } from './running.ts'
import type { Runtime } from './runtime.ts'

test('R7: what a turn has paid for waits for no commit any more, where nobody knows whether it was made', async () => {
  const spending = createDaySpending()
  const node = {
    node: 'node_1',
    store: { transact: () => Promise.reject(new Error('the disk is gone')) },
    spending,
    brokenOff: new Set(),
    unrecordedWaiters: new Map(),
  } as unknown as Runtime
  payOfDay({ spending }, '/a', 7)
  const paid = { type: 'step.ended', usage: { input: 1, output: 1, cost: { nanoUsd: 7, by: 'table' } } }
  const one = {
    row: { id: 'turn_1', session: 'ses_1' },
    session: { cwd: '/a' },
    abort: new AbortController(),
    buffer: [paid],
    commits: new Set(),
    flushing: null,
  } as unknown as Running
  await expect(commit(node, one, [], async () => 'value')).rejects.toThrow(Fenced)
  // The next look into the log says whether it stands there; what is pending would be added to that for ever.
  expect([[...spending.pending], [...spending.recorded]]).toEqual([[], [['/a', 7]]])
})
