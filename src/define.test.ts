import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineDriver, defineTool } from './define.ts'
import { isRefusal } from './model/refusal.ts'
import { tieline } from './tieline.ts'

const square = defineTool({
  name: 'square',
  description: 'Squares a number.',
  input: z.object({ n: z.number().max(100) }),
  run({ n }) {
    if (n < 0) throw new Error('negative numbers are not squared here')
    return n * n
  },
})

const openLine = () =>
  tieline({
    tools: [square],
    agents: {
      calculator: {
        tools: ['square'],
        script: async (turn) => JSON.stringify(await turn.tool('square', JSON.parse(turn.task))),
      },
      mute: { driver: defineDriver({ run: async () => ' ' }) },
      blunt: {
        driver: defineDriver({
          run: async () => ({ outcome: 'failed', output: '', error: 'no', iterations: 1 }),
        }),
      },
    },
  })

test('a defined tool gets parsed input; what does not parse and what it throws reach the model', async () => {
  await using line = await openLine()
  const use = async (input: unknown): Promise<unknown> =>
    JSON.parse((await line.run('calculator', JSON.stringify(input))).output)
  expect(await use({ n: 7 })).toEqual({ ok: true, value: 49 })
  expect(await use({ n: 101 })).toMatchObject({
    ok: false,
    value: { error: { code: 'bad_input', message: expect.stringContaining('n: 101 was given') as unknown } },
  })
  expect(await use({ n: -1 })).toEqual({
    ok: false,
    value: { error: { code: 'tool_failed', message: 'negative numbers are not squared here' } },
  })
})

test('a defined driver that returns no text has failed, and its own outcome is kept', async () => {
  await using line = await openLine()
  expect(await line.run('mute', 'x')).toMatchObject({ outcome: 'failed', error: 'empty_output' })
  expect(await line.run('blunt', 'x')).toMatchObject({ outcome: 'failed', error: 'no' })
})

test('requests of a program are checked like those at a door, and a wrong one is a refusal', async () => {
  await using line = await openLine()
  const wrong = [
    await line.calls.open({ agent: 'mute', task: '' }),
    await line.sessions.create({ cwd: '' }),
    await line.sessions.send('ses_x', { message: '' }),
    await line.mail.send({ message: '' }),
    await line.agents.create({ name: ' ' }),
  ]
  expect(wrong.map((answer) => (isRefusal(answer) ? answer.code : 'taken'))).toEqual(
    wrong.map(() => 'bad_input'),
  )
})
