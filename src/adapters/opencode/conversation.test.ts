/** Which answer belongs to which message, and where a fork is cut. */
import { expect, test } from 'vitest'
import { agentIn, answerTo, cutBefore } from './conversation.ts'
import type { OpencodeMessage, OpencodePart } from './opencode-api.ts'

const text = (said: string, more: Partial<OpencodePart> = {}): OpencodePart => ({
  id: 'prt',
  type: 'text',
  text: said,
  ...more,
})
const user = (id: string, said = id, more: Partial<OpencodePart> = {}): OpencodeMessage => ({
  info: { id, role: 'user', sessionID: 'ses', agent: `agent of ${id}` },
  parts: [text(said, more)],
})
const assistant = (
  id: string,
  parentID: string,
  said: string,
  more: Partial<OpencodeMessage['info']> = {},
): OpencodeMessage => ({
  info: {
    id,
    role: 'assistant',
    sessionID: 'ses',
    parentID,
    finish: 'stop',
    tokens: { input: 10, output: 2, reasoning: 1, cache: { read: 5, write: 0 } },
    ...more,
  },
  parts: said === '' ? [{ id: 'prt', type: 'tool', tool: 'bash' }] : [text(said)],
})

test('the answer is the last assistant message with this parent, and its tokens are those of all', () => {
  const messages = [
    user('u1'),
    assistant('a1', 'u1', 'for somebody else'),
    user('u2'),
    assistant('a2', 'u2', '', { finish: 'tool-calls' }),
    assistant('a3', 'u2', 'mine'),
    user('u3'),
    assistant('a4', 'u3', 'the next one'),
  ]
  expect(answerTo(messages, 'u2')).toEqual({ output: 'mine', usage: { input: 30, output: 6 } })
})

test('what opencode says that it cost is the cost of all that was answered, and 0 is no price', () => {
  const costing = (cost: number) => [
    user('u1'),
    assistant('a1', 'u1', '', { finish: 'tool-calls', cost }),
    assistant('a2', 'u1', 'mine', { cost }),
  ]
  expect(answerTo(costing(0.25), 'u1').usage).toEqual({ input: 30, output: 6, costUsd: 0.5 })
  expect(answerTo(costing(0), 'u1').usage).toEqual({ input: 30, output: 6 })
})

test('an answer to a later message is never taken, also where it answers both', () => {
  expect(() => answerTo([user('u1'), user('u2'), assistant('a1', 'u2', 'both at once')], 'u1')).toThrow(
    'together with a later message',
  )
  expect(() =>
    answerTo(
      [
        user('u1'),
        assistant('a1', 'u1', '', { finish: 'tool-calls' }),
        user('u2'),
        assistant('a2', 'u2', 'both at once'),
      ],
      'u1',
    ),
  ).toThrow('went on with a later message')
})

test('what opencode says to itself to go on after a summary belongs to the message before it', () => {
  expect(
    answerTo(
      [
        user('u1'),
        assistant('a1', 'u1', '', { finish: 'tool-calls' }),
        user('c1', 'Continue', { synthetic: true }),
        assistant('a2', 'c1', 'after the summary'),
      ],
      'u1',
    ),
  ).toMatchObject({ output: 'after the summary' })
})

test('what opencode wrote into an answer itself, or does not show, is no part of it', () => {
  const answer = assistant('a1', 'u1', 'mine')
  const parts = [text('reminder', { synthetic: true }), ...answer.parts, text('hidden', { ignored: true })]
  expect(answerTo([user('u1'), { ...answer, parts }], 'u1')).toMatchObject({ output: 'mine' })
})

test('what was stopped or broke in opencode is no answer', () => {
  expect(() =>
    answerTo([user('u1'), assistant('a1', 'u1', 'half', { error: { name: 'MessageAbortedError' } })], 'u1'),
  ).toThrow('stopped in opencode')
  expect(() =>
    answerTo(
      [
        user('u1'),
        assistant('a1', 'u1', '', { error: { name: 'APIError', data: { message: 'overloaded' } } }),
      ],
      'u1',
    ),
  ).toThrow('APIError: overloaded')
})

const talk = [
  user('u1'),
  assistant('a1', 'u1', '', { finish: 'tool-calls' }),
  assistant('a2', 'u1', 'one'),
  user('u2'),
  assistant('a3', 'u2', 'two'),
  user('u3'),
  assistant('a4', 'u3', '', { finish: 'tool-calls' }),
]

test('a fork counts a message of the user and all answers to it as two, without the running turn', () => {
  expect([0, 1, 2, 3, 4].map((back) => cutBefore(talk, back, 'u3'))).toEqual(['u3', 'a3', 'u2', 'a1', 'u1'])
  expect([0, 1, 2].map((back) => cutBefore(talk, back, null))).toEqual([null, 'a4', 'u3'])
  expect(() => cutBefore(talk, 5, 'u3')).toThrow('5 messages back were asked for, and the conversation has 4')
})

test('a prompt goes to the agent that the session works as', () => {
  expect(agentIn(talk)).toBe('agent of u3')
  expect(agentIn([])).toBe(undefined)
})
