import { expect, test } from 'vitest'
import { ContextFilter, Entry, Manifest, Role, wantsMessages } from './context.ts'

const problem = (given: object): string => ContextFilter.safeParse(given).error?.issues[0]?.message ?? 'none'

test('a filter that asks for nothing passes neither summary nor workspace', () => {
  expect(ContextFilter.parse({})).toEqual({ include_summary: false, include_workspace: false })
})

test('R8: only these fields ask for messages', () => {
  const asks = (given: object): boolean => wantsMessages(ContextFilter.parse(given))
  expect(asks({})).toBe(false)
  expect(asks({ include_summary: true, include_workspace: true, workspace_files: ['a'] })).toBe(false)
  expect(asks({ last_messages: 0 })).toBe(true)
  expect(asks({ roles: [] })).toBe(true)
  expect(asks({ keywords: [] })).toBe(true)
  expect(asks({ max_age_seconds: 0 })).toBe(true)
})

test('what a filter asks for is kept', () => {
  const filter = {
    last_messages: 5,
    roles: ['tool'],
    keywords: ['two words'],
    include_summary: true,
    include_workspace: true,
    workspace_files: ['src/a.ts'],
    max_age_seconds: 60,
  }
  expect(ContextFilter.parse(filter)).toEqual(filter)
  for (const wrong of [{ last_messages: -1 }, { max_age_seconds: -1 }, { workspace_files: [''] }])
    expect([wrong, problem(wrong) === 'none']).toEqual([wrong, false])
})

test('lists in a filter have a bound, and what is beyond it is said', () => {
  expect(problem({ roles: Array.from({ length: 16 }, () => 'user') })).toBe('none')
  expect(problem({ roles: Array.from({ length: 17 }, () => 'user') })).toBe('a list of at most 16 roles')
  expect(problem({ keywords: Array.from({ length: 100 }, () => 'x'.repeat(200)) })).toBe('none')
  expect(problem({ keywords: Array.from({ length: 101 }, () => 'x') })).toBe('a list of at most 100 keywords')
  expect(problem({ keywords: ['x'.repeat(201)] })).toBe('a keyword of at most 200 characters')
  expect(problem({ keywords: [''] })).not.toBe('none')
  expect(problem({ workspace_files: Array.from({ length: 201 }, () => 'x') })).not.toBe('none')
  expect(problem({ unknown: 1 })).not.toBe('none')
})

test('a model is told what each field of a filter means', () => {
  expect(
    Object.fromEntries(Object.entries(ContextFilter.shape).map(([name, field]) => [name, field.description])),
  ).toEqual({
    last_messages: 'this many of the newest messages',
    roles: 'only these roles; tool: what your tools did',
    keywords: 'only messages that have one of these words',
    include_summary: 'a summary; costs tokens',
    include_workspace: 'what is in your directory',
    workspace_files: 'paths it should look at',
    max_age_seconds: 'only messages that are no older',
  })
})

test('an entry is asked or answered, and a manifest says what was passed of whom', () => {
  expect(Role.options).toEqual(['user', 'assistant', 'tool', 'system'])
  const entry = {
    n: 1,
    role: 'user',
    at: 2,
    text: 't',
    tokens: 3,
    from: null,
    turn: 'turn_1',
    hasSteps: false,
    steps: null,
  }
  expect(Entry.parse(entry)).toEqual(entry)
  expect(Entry.parse({ ...entry, role: 'assistant' }).role).toBe('assistant')
  expect(Entry.safeParse({ ...entry, role: 'tool' }).success).toBe(false)
  const manifest = {
    tokensMax: 10,
    tokens: 5,
    parts: { task: 5 },
    messages: {
      session: 'ses_1',
      total: 2,
      passed: [1],
      roles: ['tool'],
      dropped: { age: 1 },
      present: null,
    },
    summary: null,
    workspace: null,
  }
  expect(Manifest.parse(manifest)).toEqual(manifest)
})
