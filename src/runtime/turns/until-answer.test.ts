import { expect, test } from 'vitest'
import { memorySteps } from '../../../test/kits/turns.ts'
import type { Steps, TurnOutcome } from '../kernel/ports.ts'
import { untilAnswer } from './until-answer.ts'

const done: TurnOutcome = { outcome: 'completed', output: 'done', error: null, iterations: 1 }

test('a driver that goes on after its answer says nothing more, neither text nor what it waits for', async () => {
  const steps = memorySteps()
  let own: Steps | null = null
  const answer = untilAnswer(steps, async (given) => {
    own = given
    given.emit('before')
    given.remark?.('it waits')
    return done
  })
  expect(await answer).toEqual(done)
  const late = own as Steps | null
  late?.emit('after')
  late?.remark?.('it waits still')
  await expect(late?.tool('look', {})).rejects.toThrow('the driver has answered already')
  expect([steps.emitted, steps.remarks]).toEqual([['before'], ['it waits']])
})
