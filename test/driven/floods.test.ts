/** Agents that say and show without end: their turns end, in time, and hold nobody else up. */
import { expect, test } from 'vitest'
import { answerUnitsMax } from '../../src/model/limits.ts'
import { driveFake } from '../kits/driven.ts'

/** Beyond the time that an agent has to stop: to look through what it said, on a full machine. */
const slackMs = 4000

test('32 MB of half keys held the call of an agent 13 s beyond its deadline', async () => {
  const { call } = await driveFake()
  const from = performance.now()
  const answer = await call('flood text 32 -sk-', { timeout_seconds: 6 })
  expect(performance.now() - from).toBeLessThan(6000 + slackMs)
  expect(answer.outcome).toBe('failed')
  expect(answer.errors.join()).toContain('output_too_long')
  expect(answer.output.length).toBeLessThanOrEqual(answerUnitsMax)
}, 60_000)

test.each(['tools', 'plans', 'leave', 'garbage'])(
  'a flood of %s ends with its turn, and a deadline is kept beside it',
  async (what) => {
    const { call, events } = await driveFake({}, { permissions: 'deny' })
    const from = performance.now()
    const answer = await call(`flood ${what} 32 -sk-\nsay done\nhang`, { timeout_seconds: 6 })
    expect(performance.now() - from).toBeLessThan(6000 + slackMs)
    expect(answer.outcome).toBe('timed_out')
    const shown = (await events('step.ended')).reduce((sum, step) => sum + JSON.stringify(step).length, 0)
    expect(shown).toBeLessThan(6_000_000)
  },
  60_000,
)
