import { expect, test } from 'vitest'
import {
  artifactKindsDefault,
  finalAnswerWords,
  isEmptyAnswer,
  readFinalAnswer,
  unwrapFence,
} from './final-answer.ts'

test.each([
  ['no fence', 'plain', 'plain'],
  ['a fence', '```\ninside\n```', 'inside'],
  ['a fence with a language', '```json\n{"a":1}\n```', '{"a":1}'],
  ['blanks around it', '  \n```json\n  {"a":1}  \n```\n ', '{"a":1}'],
  ['several lines', '```\none\ntwo\n```', 'one\ntwo'],
  ['a fence inside of a line', '```\na ``` b\n```', 'a ``` b'],
  ['a fence that is closed on the same line', '```json```', '```json```'],
  ['no end', '```\ninside', '```\ninside'],
  ['no begin', 'inside\n```', 'inside\n```'],
  ['words before', 'Here:\n```\ninside\n```', 'Here:\n```\ninside\n```'],
  ['two fences', '```\none\n```\nand\n```\ntwo\n```', '```\none\n```\nand\n```\ntwo\n```'],
  ['blanks and no fence', '  plain  ', '  plain  '],
])('of a text with %s the fence is taken off, or nothing is', (_what, text, left) => {
  expect(unwrapFence(text)).toBe(left)
})

const kinds = ['note', 'path']

test.each([
  ['plain text', 'done', { summary: 'done', artifacts: [] }],
  ['JSON that is no object', '[1]', { summary: '[1]', artifacts: [] }],
  ['an object without either field', '{"answer":1}', { summary: '{"answer":1}', artifacts: [] }],
  ['a fenced object without either', '```\n{"a":1}\n```', { summary: '```\n{"a":1}\n```', artifacts: [] }],
  ['a summary alone', '{"summary":"it works"}', { summary: 'it works', artifacts: [] }],
  ['a summary in a fence', '```json\n{"summary":"it works"}\n```', { summary: 'it works', artifacts: [] }],
  [
    'artifacts alone',
    '{"artifacts":[{"kind":"path","value":"a.ts"}]}',
    { summary: '', artifacts: [{ kind: 'path', value: 'a.ts' }] },
  ],
  [
    'both, and a value that is no text',
    '{"summary":"s","artifacts":[{"kind":"note","value":{"b":[1]}},{"kind":"path","value":"x"}]}',
    {
      summary: 's',
      artifacts: [
        { kind: 'note', value: '{"b":[1]}' },
        { kind: 'path', value: 'x' },
      ],
    },
  ],
])('%s is read as it is meant', (_what, output, answer) => {
  expect(readFinalAnswer(output, kinds)).toEqual(answer)
})

test.each([
  ['a field more', '{"summary":"s","more":1}'],
  ['a summary that is no text', '{"summary":1}'],
  ['artifacts that are no list', '{"artifacts":{}}'],
  ['an artifact without a value', '{"artifacts":[{"kind":"note"}]}'],
  ['an artifact with a field more', '{"artifacts":[{"kind":"note","value":1,"more":2}]}'],
])('%s is a problem', (_what, output) => {
  expect(readFinalAnswer(output, kinds)).toBe('it is not { summary, artifacts }')
})

test('an artifact of another kind is a problem that names the kinds', () => {
  expect(readFinalAnswer('{"artifacts":[{"kind":"note","value":1},{"kind":"diff","value":1}]}', kinds)).toBe(
    'artifact kind "diff" is not one of note, path',
  )
})

test('a subagent is told how to answer, with the kinds that may be used', () => {
  expect(finalAnswerWords(kinds)).toBe(
    'When you are done, answer with what your caller should know, as plain text, or as JSON and nothing else: ' +
      '{"summary": "…", "artifacts": [{"kind": "note|path", "value": "…"}]}.',
  )
  expect(artifactKindsDefault).toEqual(['note', 'path', 'diff', 'json'])
})

test('an answer is empty without words and without artifacts', () => {
  expect(isEmptyAnswer({ summary: ' \n', artifacts: [] })).toBe(true)
  expect(isEmptyAnswer({ summary: 'x', artifacts: [] })).toBe(false)
  expect(isEmptyAnswer({ summary: '', artifacts: [{ kind: 'note', value: '' }] })).toBe(false)
})
