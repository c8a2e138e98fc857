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

test('a name of eighty characters is whole, and a longer one ends with a sign in their place', () => {
  expect(nameText('x'.repeat(80))).toBe('x'.repeat(80))
  expect(nameText('x'.repeat(81))).toBe(`${'x'.repeat(79)}…`)
  expect(nameText(`${'x'.repeat(78)} ${'y'.repeat(10)}`)).toBe(`${'x'.repeat(78)}…`)
  expect(nameText('a \n\t b')).toBe('a b')
})

test.each([
  ['task', { task: 'one' }, 'one'],
  ['message', { message: 'two' }, 'two'],
  ['initialMessage', { initialMessage: 'three' }, 'three'],
  ['the first of them', { initialMessage: 'three', message: 'two', task: 'one' }, 'one'],
  ['the message before the initial one', { initialMessage: 'three', message: 'two' }, 'two'],
  ['none of them', { other: 'x' }, ''],
  ['no text', { task: { a: 1 } }, ''],
  ['no input', null, ''],
])('what a client said is in %s', (_where, input, said) => {
  expect(readTask({ text: 'x', use: { tool: 'sub_agent', input } }, true)).toBe(said)
})

test.each([
  ['call_agent coder: do it', 'do it'],
  ['send-message: do it', 'do it'],
  ['subagent: do it', 'do it'],
  ['subagent', ''],
  ['list_agents', ''],
  ['hello coder: do it', 'hello coder: do it'],
  ['Call_agent coder: x', 'Call_agent coder: x'],
  ['x\ncall_agent coder: y', 'x\ncall_agent coder: y'],
  ['call_agent coder\nand: y', 'call_agent coder\nand: y'],
])('%j as an old log has it was asked as %j', (text, task) => {
  expect(readTask({ text }, true)).toBe(task)
})

test.each([
  'buffer',
  'get_session_state',
  'list_agents',
  'list-session',
  'read_output',
  'wait_for_call',
  'wait_for_mail',
  'wait_for_session',
])('%s only looks something up', (tool) => {
  expect(isLook({ text: '', use: { tool, input: {} } }, true)).toBe(true)
  expect(isLook({ text: '', use: { tool, input: {} } }, false)).toBe(false)
  expect(isLook({ text: 'plain words' }, true)).toBe(false)
})

test('the last of several calls decides, and a call without an end leaves it to the answer', () => {
  const made = (outcome: 'failed' | 'completed' | null) => ({
    outcome,
    error: outcome === 'failed' ? 'x' : null,
  })
  expect(readRootEnd(done, true, [made('failed'), made('completed')])).toEqual(made('completed'))
  expect(readRootEnd(done, true, [made('failed'), made(null)])).toEqual({ outcome: 'completed', error: null })
})

test.each([
  ['{"ok":false,"value":{"error":{"code":"interrupted","message":"m"}}}', { outcome: 'failed', error: 'm' }],
  ['{"ok":false,"value":{"error":{"message":"m"}}}', { outcome: 'failed', error: 'm' }],
  ['{"ok":false,"value":{"error":{"code":"queue_full","message":7}}}', { outcome: 'refused', error: null }],
  ['{"ok":false,"value":{"error":null}}', { outcome: 'failed', error: null }],
  ['{"ok":false,"value":null}', { outcome: 'failed', error: null }],
  ['{"ok":false}', { outcome: 'failed', error: null }],
  ['{"ok":false,"va', { outcome: 'failed', error: null }],
  [' {"ok":false}', { outcome: 'completed', error: null }],
])('the answer %j is read as it ended', (output, end) => {
  expect(readRootEnd({ ...done, output }, true, [])).toEqual(end)
})

test.each(['failed', 'timed_out', 'budget_exhausted', 'refused', 'lost'] as const)(
  '%s is a failure',
  (outcome) => {
    expect(isFailure(outcome)).toBe(true)
    expect(isFailure('completed')).toBe(false)
  },
)
