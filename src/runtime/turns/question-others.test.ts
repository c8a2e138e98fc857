import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'
import type { Tool } from '../kernel/ports.ts'
import { answerQuestion } from './question.ts'

const tool = (name: string): Tool => ({
  name,
  effect: 'write',
  calling: false,
  describe: () => ({ name, description: '', input: {} }),
  run: async () => ({ ok: true, value: 'done' }),
})

test('a leave for the session answers nothing that another session asks about the same tool', async () => {
  const script = async (turn: { tool(name: string, input: object): Promise<{ value: unknown }> }) =>
    JSON.stringify((await turn.tool('danger', {})).value)
  const w = await world({
    agents: { a: { ask: ['danger'], script: script as never } },
    tools: [tool('danger')],
    asks: true,
  })
  const runs = [w.ask('a', 'one'), w.ask('a', 'two')]
  await w.rest()
  const [first, second] = await w.events('question.asked')
  const answer = { answer: 'allow', scope: 'session' } as const
  await answerQuestion(w.node.runtime, first?.event.question ?? '', answer, 'user')
  await w.rest()
  expect((await w.store.lists.openQuestions()).map(({ event }) => event.session)).toEqual([
    second?.event.session,
  ])
  await answerQuestion(w.node.runtime, second?.event.question ?? '', { answer: 'deny' }, 'user')
  const ended = await w.until(Promise.all(runs))
  expect(ended.map(({ output }) => output.includes('done')).toSorted()).toEqual([false, true])
})
