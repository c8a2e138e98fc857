/** The simulator's own count of runs that ended with their process and had done nothing (R11). */
import { expect, test } from 'vitest'
import type { Event } from '../../src/model/event.ts'
import { QuietRuns } from '../../sim/quiet-runs.ts'

const place = { session: 'ses_a', turn: 'turn_a', question: 'question_1' } as const
const asked: Event = {
  type: 'question.asked',
  ...place,
  key: 'k',
  agent: 'a',
  tool: 'buffer',
  input: {},
  path: ['a'],
  flow: 'flow_a',
  deadline: 1000,
}
const answered: Event = { type: 'question.answered', ...place, answer: 'allow', by: 'user' }

test('R11: two runs that record nothing and end with their process count, on whatever nodes they were', () => {
  const runs = new QuietRuns()
  runs.claim('node_1', 'node_2', false)
  runs.claim('node_2', 'node_3', false)
  expect(runs.count).toBe(2)
  runs.claim('node_3', 'node_2', false)
  expect(runs.count).toBe(1)
})

test('R11: a turn that only waited for a person was said to have run in vain, on one node after another', () => {
  const runs = new QuietRuns()
  runs.apply(asked)
  runs.claim('node_1', 'node_3', false)
  runs.claim('node_3', 'node_1', false)
  runs.claim('node_1', 'node_2', false)
  expect(runs.count).toBe(0)
  runs.apply(answered)
  runs.claim('node_2', 'node_4', false)
  runs.claim('node_4', 'node_5', false)
  runs.claim('node_5', 'node_6', true)
  expect(runs.count).toBe(0)
})
