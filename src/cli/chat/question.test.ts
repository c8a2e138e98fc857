import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { readPipe } from './prompt.ts'
import { displayWidth } from '../show/width.ts'
import { isYes, readReply, renderQuestion } from './question.ts'

const asked = { agent: 'coder', tool: 'shell', input: { command: 'npm test' }, path: ['planner', 'coder'] }

const prompt = 'Allow? [y]es, for this [s]ession, [N]o, or say why not: '

describe('a permission question', () => {
  test('says who wants what on whose behalf, each on lines of their own', () => {
    expect(renderQuestion(asked)).toBe(
      `coder wants to run shell, on behalf of planner -> coder:\n\n    npm test\n\n${prompt}`,
    )
    expect(renderQuestion({ ...asked, tool: 'write', input: { path: 'a', content: 'b' } })).toContain(
      'run write, on behalf of planner -> coder:\n\n    {"path":"a","content":"b"}\n',
    )
  })

  test('names nobody else where the agent was asked by the user', () => {
    const own = renderQuestion({ ...asked, path: ['coder'] })
    expect(own.split('\n')[0]).toBe('coder wants to run shell:')
  })

  test('a command cannot look like the words around it', () => {
    expect(
      renderQuestion({
        ...asked,
        input: { command: 'rm -rf x on behalf of you. Allow? [y/N]\nAllow? [y/N] ' },
      })
        .split('\n')
        .slice(1),
    ).toEqual(['', '    rm -rf x on behalf of you. Allow? [y/N]', '    Allow? [y/N] ', '', prompt])
  })

  test('shows everything that would run, also after line breaks, control characters and long text', () => {
    const sly = renderQuestion({
      ...asked,
      input: { command: 'echo ok\nrm -rf x\r\u001b[2K\u001b[1Aecho \u202eok\u200b' },
    })
    expect(sly).toContain('    echo ok\n    rm -rf x\\u{d}\\u{1b}[2K\\u{1b}[1Aecho \\u{202e}ok\\u{200b}\n')
    expect(sly.replaceAll('\n', '')).not.toMatch(/[\p{Control}\p{Format}]/u)
    const long = renderQuestion({ ...asked, input: { command: `${'x'.repeat(5000)}rm` } })
    expect(long.replaceAll(/[^xr]|m\b/g, '').length).toBeGreaterThanOrEqual(5001)
    const many = renderQuestion({ ...asked, input: { command: `${'echo\n'.repeat(40)}rm` } })
    expect(many.split('\n').slice(-3)).toEqual(['    rm', '', prompt])
  })

  test('shows where, for what, and what the agent said last', () => {
    const whole = renderQuestion({
      ...asked,
      cwd: '/work',
      task: 'Fix it',
      request: 'Release 2.0',
      lastWords: 'First the tests.',
    })
    expect(whole).toContain('In /work\nIts task:\n    Fix it\nThe request:\n    Release 2.0\n')
    expect(whole).toContain('It said last:\n    First the tests.\n')
  })

  test('a long line is broken before the terminal breaks it', () => {
    const lines = renderQuestion(
      { ...asked, input: { command: `echo ${' '.repeat(70)}Allow? [y/N] 世界` } },
      40,
    ).split('\n')
    expect(lines.slice(2, -2).map((line) => line.slice(0, 4))).toEqual(['    ', '  ↪ ', '  ↪ '])
    expect(lines.every((line) => displayWidth(line) < 80)).toBe(true)
  })

  test('an answer is for once, for the session, or no, perhaps with a reason', () => {
    expect(['y', 's', 'n', '', 'Keep the backup'].map(readReply)).toEqual([
      { answer: 'allow' },
      { answer: 'allow', scope: 'session' },
      { answer: 'deny' },
      { answer: 'deny' },
      { answer: 'deny', reason: 'Keep the backup' },
    ])
  })

  test('only a clear yes is one', () => {
    expect(['y', 'Y', ' yes ', 'YES'].map(isYes)).toEqual([true, true, true, true])
    expect(['', 'n', 'no', 'yep', 'y n', 'ja'].filter(isYes)).toEqual([])
  })
})

describe('lines of a pipe', () => {
  test('are kept until they are asked for, and end with it', async () => {
    const input = new PassThrough()
    const lines = readPipe(input)
    const { signal } = new AbortController()
    input.end('one\ntwo')
    await new Promise((resolve) => setImmediate(resolve))
    expect([
      await lines.next('', signal),
      await lines.next('', signal),
      await lines.next('', signal),
    ]).toEqual([{ text: 'one' }, { text: 'two' }, null])
  })

  test('are not waited for when the command is to end', async () => {
    const stop = new AbortController()
    const lines = readPipe(new PassThrough())
    const next = lines.next('', stop.signal)
    stop.abort()
    expect(await next).toBeNull()
    expect(await lines.next('', stop.signal)).toBeNull()
    lines.close()
  })
})
