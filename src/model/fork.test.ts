import { expect, test } from 'vitest'
import { sessionRow } from '../../test/kits/calls.ts'
import type { SessionRow } from './facts.ts'
import { toForkRow } from './fork.ts'

const from = (more: Partial<SessionRow> = {}): SessionRow =>
  sessionRow({
    id: 'ses_from',
    agent: 'writer',
    kind: 'persistent',
    parent: 'ses_other',
    cwd: '/work',
    title: 'A plan',
    model: 'fast/small',
    createdAt: 5,
    archived: false,
    entries: 6,
    summary: 'It was said.',
    summaryEntries: 4,
    ...more,
  })
const fork = (row: SessionRow, back: number, elsewhere = false) =>
  toForkRow(row, back, 'ses_fork', 'ses_parent', 1000, elsewhere)

const whole = {
  id: 'ses_fork',
  agent: 'writer',
  kind: 'persistent',
  parent: 'ses_parent',
  cwd: '/work',
  title: 'A plan (fork)',
  model: 'fast/small',
  createdAt: 1000,
  archived: false,
  entries: 6,
  summary: null,
  summaryEntries: 0,
}
const forked = (entries: number, back: number) => [
  { type: 'session.forked', session: 'ses_fork', turn: null, from: 'ses_from', entries, back },
]

test('a fork has the agent, directory and model of what it goes on from, and neither its summary nor its place', () => {
  expect(fork(from(), 0)).toEqual({ row: whole, events: forked(6, 0) })
})

test('some messages back it shares so many less, down to none', () => {
  expect(fork(from(), 2)).toEqual({ row: { ...whole, entries: 4 }, events: forked(4, 2) })
  expect(fork(from(), 6)).toEqual({ row: { ...whole, entries: 0 }, events: forked(0, 6) })
})

test('more messages back than there are is refused with their number', () => {
  expect(fork(from(), 7)).toEqual({
    code: 'bad_input',
    field: 'fork',
    given: '7',
    expected: 'at most 6, since ses_from has 6 messages,',
  })
})

test('where a connected program keeps the conversation, only it knows how much there is', () => {
  expect(fork(from(), 7, true)).toEqual({ row: { ...whole, entries: 0 }, events: forked(0, 7) })
})

test('a session without a title has a fork without one', () => {
  expect(fork(from({ title: '' }), 0)).toMatchObject({ row: { title: '' } })
})

test('a session that a call made, or that was idle, has a fork that stays', () => {
  expect(fork(from({ kind: 'ephemeral', archived: 'idle' }), 0)).toMatchObject({
    row: { kind: 'persistent', archived: false },
  })
})

test('the session of a client outside is not forked, and a deleted one is not there', () => {
  expect(fork(from({ kind: 'external' }), 0)).toEqual({
    code: 'bad_input',
    field: 'fork',
    given: '"ses_from"',
    expected: 'a session with a conversation here; that of a client outside is its own',
  })
  expect(fork(from({ archived: 'deleted' }), 0)).toEqual({ code: 'session_unknown', session: 'ses_from' })
})
