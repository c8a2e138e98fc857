import { expect, test } from 'vitest'
import { findCall, findFlow, findQuestion } from './find.ts'

const holding = (...ids: string[]) => ({
  idsLike: async (_kind: string, given: string, limit: number) =>
    ids.filter((id) => id.includes(given)).slice(0, limit),
})

test('a whole id names itself, also where newer ones begin with it', async () => {
  const lists = holding('flow_abcd', 'flow_abc', 'flow_ab')
  const found = ['flow_abc', 'flow_ab', 'abcd', 'last', 'flow_x', ''].map((given) => findFlow(lists, given))
  expect(await Promise.all(found)).toEqual([
    { id: 'flow_abc' },
    { id: 'flow_ab' },
    { id: 'flow_abcd' },
    { id: 'flow_abcd' },
    null,
    null,
  ])
})

test('a part that several ids have names none of them, and ten are shown', async () => {
  const ids = Array.from({ length: 12 }, (_, n) => `call_${n}`)
  const refused = await findCall(holding(...ids), 'call')
  expect(refused).toMatchObject({ code: 'bad_input', field: 'id', given: '"call"' })
  expect(JSON.stringify(refused)).toContain('it fits call_0, call_1, call_2')
  expect(JSON.stringify(refused)).not.toContain('call_10')
})

test('a call that nobody has is refused, and a question that was answered is known by its whole id', async () => {
  expect(await findCall(holding(), 'call_x')).toEqual({ code: 'call_unknown', call: 'call_x' })
  expect(await findQuestion(holding(), 'question_x')).toEqual({ id: 'question_x' })
  expect(await findQuestion(holding(), 'x')).toEqual({ code: 'question_unknown', question: 'x' })
})
