import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { pipedLines } from './prompt.ts'
import { isYes, questionWords } from './question.ts'

const asked = { agent: 'coder', tool: 'shell', input: { command: 'npm test' }, path: ['planner', 'coder'] }

describe('a permission question', () => {
  test('says who wants what on whose behalf', () => {
    expect(questionWords(asked)).toBe('coder wants to run shell: npm test on behalf of planner -> coder. Allow? [y/N] ')
    expect(questionWords({ ...asked, tool: 'write', input: { path: 'a', content: 'b' } })).toContain('write: {"path":"a","content":"b"} on behalf of')
  })

  test('shows everything that would run: nothing is hidden by a line break, a control character or its length', () => {
    const sly = questionWords({ ...asked, input: { command: 'echo ok\nrm -rf x\r\u001b[2K\u001b[1Aecho ok' } })
    expect(sly).toContain('echo ok ⏎ rm -rf x')
    expect(sly).not.toMatch(/[\p{Control}]/u)
    expect(questionWords({ ...asked, input: { command: `${'x'.repeat(5000)}rm` } })).toContain('… (3002 more characters) on behalf of')
  })

  test('only a clear yes is one', () => {
    expect(['y', 'Y', ' yes ', 'YES'].map(isYes)).toEqual([true, true, true, true])
    expect(['', 'n', 'no', 'yep', 'y n', 'ja'].filter(isYes)).toEqual([])
  })
})

describe('lines of a pipe', () => {
  test('are kept until they are asked for, and end with it', async () => {
    const input = new PassThrough()
    const lines = pipedLines(input)
    const { signal } = new AbortController()
    input.end('one\ntwo')
    await new Promise((resolve) => setImmediate(resolve))
    expect([await lines.next('', signal), await lines.next('', signal), await lines.next('', signal)]).toEqual([{ text: 'one' }, { text: 'two' }, null])
  })

  test('are not waited for when the command is to end', async () => {
    const stop = new AbortController()
    const lines = pipedLines(new PassThrough())
    const next = lines.next('', stop.signal)
    stop.abort()
    expect(await next).toBeNull()
    expect(await lines.next('', stop.signal)).toBeNull()
    lines.close()
  })
})
