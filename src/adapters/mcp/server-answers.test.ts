import { expect, test } from 'vitest'
import { refuseTool } from '../../tools/refused-answer.ts'
import type { ToolName } from '../../wire/tools.ts'
import { toToolResult, renderAnswer } from './server-answers.ts'
import { outputSchemas } from './server-tools.ts'

test('a short answer is one line of JSON', () =>
  expect(renderAnswer({ a: 1, b: 'x' })).toBe('{"a":1,"b":"x"}'))

test('a text of several lines stands below the rest, as it is', () => {
  expect(renderAnswer({ ok: true, output: 'one\ntwo "quoted"' })).toBe(
    '{"ok":true,"output":"(below)"}\n\noutput:\none\ntwo "quoted"',
  )
})

test('texts are found wherever they are', () => {
  expect(renderAnswer({ artifacts: [{ kind: 'diff', value: '-a\n+b' }], last: { content: 'x\ny' } })).toBe(
    '{"artifacts":[{"kind":"diff","value":"(below)"}],"last":{"content":"(below)"}}\n\n' +
      'artifacts[0].value:\n-a\n+b\n\nlast.content:\nx\ny',
  )
})

test('no line is longer than clients show, and no character is split or lost', () => {
  const line = '😀'.repeat(3000)
  const many = { output: line, tool_calls: Array.from({ length: 200 }, (_, n) => `tool_number_${n}`) }
  const text = renderAnswer(many)
  expect(Math.max(...text.split('\n').map((part) => part.length))).toBeLessThanOrEqual(1000)
  expect(text.isWellFormed()).toBe(true)
  expect(text.replaceAll('\n', '')).toContain(line)
  expect(many.tool_calls.every((name) => text.includes(`"${name}"`))).toBe(true)
})

test('a failure is marked, and a value that is no object is put into one', () => {
  expect(toToolResult({ ok: false, value: { error: 'x' } })).toMatchObject({
    isError: true,
    structuredContent: { error: 'x' },
  })
  expect(toToolResult({ ok: true, value: 'text' })).toEqual({
    content: [{ type: 'text', text: '{"result":"text"}' }],
    structuredContent: { result: 'text' },
  })
})

test.each(Object.keys(outputSchemas()) as ToolName[])(
  'a refusal before %s has the keys that it always has',
  (name) => {
    const { ok, value } = refuseTool(
      name,
      { agent_name: 'a', agent_id: 'a', call_id: 'call_1' },
      { code: 'session_unknown', session: 'ses_1' },
    )
    expect(ok).toBe(false)
    expect(Object.keys(value as object)).toEqual(
      expect.arrayContaining((outputSchemas()[name]['required'] ?? ['?']) as string[]),
    )
    expect(JSON.stringify(value)).toContain('There is no session')
  },
)
