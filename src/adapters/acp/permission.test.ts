import { expect, test } from 'vitest'
import { chooseOption, readAsked, readOptions } from './permission.ts'

const option = (kind: string, id = kind) => ({ id, kind, name: '' })

test('leave is given once, and for good only where there is nothing else; so is a no', () => {
  const all = ['allow_always', 'allow_once', 'reject_always', 'reject_once'].map((kind) => option(kind))
  expect(chooseOption(all, 'allow')).toBe('allow_once')
  expect(chooseOption(all, 'deny')).toBe('reject_once')
  expect(chooseOption([option('allow_always'), option('reject_always')], 'allow')).toBe('allow_always')
  expect(chooseOption([option('allow_always'), option('reject_always')], 'deny')).toBe('reject_always')
})

test('an agent that has no such option is told nothing', () => {
  expect(chooseOption([option('reject_once')], 'allow')).toBeNull()
  expect(chooseOption([option('allow_once')], 'deny')).toBeNull()
})

test('of two that fit, the one for the session only is taken', () => {
  const two = [option('allow_always', 'for-good'), option('allow_always', 'this-session')]
  expect(chooseOption(two, 'allow')).toBe('this-session')
})

test('what a request says of its tool counts before what was said earlier', () => {
  const before = { id: '1', title: 'old', name: 'Read', kind: 'read', input: { a: 1 }, locations: ['/a'] }
  expect(
    readAsked({ toolCallId: '2', title: 'new', name: 'Edit', kind: 'edit', rawInput: { b: 2 } }, before),
  ).toEqual({ id: '2', title: 'new', name: 'Edit', kind: 'edit', input: { b: 2 }, locations: ['/a'] })
  expect(readAsked({ rawInput: {}, locations: [{ path: '/b' }, { path: 3 }, null] }, before)).toEqual({
    ...before,
    locations: ['/b'],
  })
  expect(readAsked({}, before)).toEqual(before)
})

test('of a tool that nobody spoke of before everything is filled in', () => {
  const unknown = { id: '', title: '', name: null, kind: 'other', input: null, locations: [] }
  expect(readAsked(null, undefined)).toEqual(unknown)
  expect(readAsked({ content: 'as text', rawInput: {} }, undefined)).toEqual({ ...unknown, input: 'as text' })
  expect(readAsked({ _meta: { claudeCode: { toolName: 'Bash' } } }, undefined)).toEqual({
    ...unknown,
    name: 'Bash',
  })
  expect(readAsked({ _meta: { claudeCode: { toolName: 7 } } }, undefined)).toEqual(unknown)
})

test('only options with an id are options', () => {
  expect(readOptions('none')).toEqual([])
  expect(readOptions([{ optionId: 'a', kind: 'allow_once', name: 'Yes' }, { kind: 'b' }, null])).toEqual([
    { id: 'a', kind: 'allow_once', name: 'Yes' },
  ])
})

test('who decides on an input that is too long to be shown is told that there is more of it', () => {
  const text = 'x'.repeat(20_000)
  for (const rawInput of [{ command: 'echo', text }, { text }])
    expect(readAsked({ rawInput }, undefined).input).toMatchObject({
      warning: expect.stringContaining('only its beginning'),
      cut: expect.stringContaining('xxx'),
    })
  expect(readAsked({ rawInput: { command: 'echo' } }, undefined).input).toEqual({ command: 'echo' })
})
