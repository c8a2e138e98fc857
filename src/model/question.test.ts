import { expect, test } from 'vitest'
import { Answer, answered, AnswerScope, asked } from './question.ts'

test('a question is answered with yes or no, once or for the session', () => {
  expect([Answer.options, AnswerScope.options]).toEqual([
    ['allow', 'deny'],
    ['once', 'session'],
  ])
  expect(Object.keys(asked).join(' ')).toBe('question key agent tool input path flow deadline')
  expect(Object.keys(answered).join(' ')).toBe('question answer by reason scope tool')
})
