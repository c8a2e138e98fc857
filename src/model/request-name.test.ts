/** What people call a request, and how it ended for the one who asked. */
import { expect, test } from 'vitest'
import { isFailure, isLook, nameText, readRootEnd, readTask } from './request-name.ts'

const done = { outcome: 'completed' as const, output: '{"ok":true,"value":{}}', error: null }

test('a name is one line, and says where it was cut', () => {
  expect(nameText('  Build\n it ')).toBe('Build it')
  const long = nameText('word '.repeat(40))
  expect(Array.from(long).length).toBeLessThanOrEqual(80)
  expect(long.endsWith('…')).toBe(true)
})

test("a client's request goes by its task, not by the tool that it was asked with", () => {
  const use = { tool: 'sub_agent', input: { agent_name: 'coder', task: 'Build it' } }
  expect(readTask({ text: 'sub_agent coder: Build it', use }, true)).toBe('Build it')
  expect(readTask({ text: 'sub_agent coder: Build\nit' }, true)).toBe('Build\nit')
  // A person may write what looks like one.
  expect(readTask({ text: 'sub_agent coder: Build it' }, false)).toBe('sub_agent coder: Build it')
})

test('what a client only looks up is no request', () => {
  expect(isLook({ text: '', use: { tool: 'list-session', input: {} } }, true)).toBe(true)
  expect(isLook({ text: '', use: { tool: 'call_agent', input: {} } }, true)).toBe(false)
  expect(isLook({ text: 'list-session' }, false)).toBe(false)
})

test("a client's request ended as what it asked for did", () => {
  expect(readRootEnd(done, true, [{ outcome: 'failed', error: 'boom' }])).toEqual({
    outcome: 'failed',
    error: 'boom',
  })
  expect(readRootEnd(done, false, [{ outcome: 'failed', error: 'boom' }])).toEqual({
    outcome: 'completed',
    error: null,
  })
  const cancelled = { ...done, outcome: 'cancelled' as const, error: 'the client went away' }
  expect(readRootEnd(cancelled, true, [{ outcome: 'completed', error: null }]).outcome).toBe('cancelled')
})

test('an answer that says no, without a call, is a refusal; one that broke is a failure', () => {
  const answer = (code: string): typeof done => ({
    ...done,
    output: JSON.stringify({ ok: false, value: { error: { code, message: 'why' } } }),
  })
  expect(readRootEnd(answer('queue_full'), true, [])).toEqual({ outcome: 'refused', error: 'why' })
  expect(readRootEnd(answer('tool_failed'), true, [])).toEqual({ outcome: 'failed', error: 'why' })
  expect(readRootEnd({ ...done, output: '{"ok":false,"val' }, true, []).outcome).toBe('failed')
  expect(readRootEnd(done, true, []).outcome).toBe('completed')
})

test('cancelled on purpose is no failure', () => {
  expect(isFailure('cancelled')).toBe(false)
  expect(isFailure('refused')).toBe(true)
  expect(isFailure(null)).toBe(false)
})
