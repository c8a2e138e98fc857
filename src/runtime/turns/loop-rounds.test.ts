/** The rounds of the loop: how many there are, what the model reads of its tools, and what a provider withholds. */
import { expect, test } from 'vitest'
import { memorySteps, turnInput } from '../../../test/kits/turns.ts'
import { usageEstimator } from './estimate-usage.ts'
import { runLoop, type LoopAnswer, type ModelRequest } from './loop.ts'

const usage = { input: 10, output: 5, estimated: false }
const done: LoopAnswer = { text: 'done', toolCalls: [], usage, finish: 'stop' }

/** Runs the loop with these answers, in order, and says what was asked. */
async function loop(
  answers: readonly LoopAnswer[],
  turn: Parameters<typeof turnInput>[0] = {},
  tools: NonNullable<Parameters<typeof memorySteps>[0]>['tools'] = {},
) {
  const asked: ModelRequest[] = []
  const outcome = await runLoop(
    turnInput(turn),
    memorySteps({ tools }),
    new AbortController().signal,
    async (request) => {
      asked.push({ ...request, messages: [...request.messages] })
      return answers[asked.length - 1] ?? done
    },
    'm',
    usageEstimator(() => 0),
  )
  return { outcome, asked }
}

test('an answer that the provider withheld is a failure, and what came of it is kept', async () => {
  const { outcome } = await loop([{ ...done, text: 'the first half', finish: 'content-filter' }])
  expect(outcome).toMatchObject({
    outcome: 'failed',
    output: 'the first half',
    error: expect.stringContaining('content_filtered') as string,
  })
})

test('nothing is asked where no round is allowed', async () => {
  const { outcome, asked } = await loop([done], { maxIterations: 0 })
  expect([outcome.outcome, asked.length]).toEqual(['failed', 0])
})

test('the model is shown which of its tools failed', async () => {
  const toolCalls = ['good', 'bad'].map((name) => ({ id: name, name, input: {} }))
  const { asked } = await loop(
    [{ ...done, text: '', toolCalls, finish: 'tool-calls' }],
    {},
    {
      good: () => ({ ok: true, value: 1 }),
      bad: () => ({ ok: false, value: 2 }),
    },
  )
  expect(asked[1]?.messages.flatMap((message) => (message.role === 'tool' ? [message.ok] : []))).toEqual([
    true,
    false,
  ])
})

test('a run that repairs an output has idempotency keys of its own', async () => {
  const { asked } = await loop([done], { attempt: 2 })
  expect(asked[0]?.idempotencyKey).toBe('turn_1-again-1')
})
