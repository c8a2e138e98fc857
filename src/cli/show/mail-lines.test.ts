import { expect, test } from 'vitest'
import type { MessageRecord } from '../../wire/mail.ts'
import {
  renderAccepted,
  renderDraftCount,
  renderDraftHelp,
  renderDrafts,
  renderInbox,
  renderLetters,
  renderMessage,
  readMillis,
  type MailView,
} from './mail-lines.ts'
import { displayWidth } from './width.ts'

const now = 1_800_000_060_000
const view = (more: Partial<MailView> = {}): MailView => ({
  width: 60,
  colour: false,
  now,
  nameOf: (session) => (session === 'ses_1' ? 'planner' : null),
  ...more,
})
const letter = (more: Partial<MessageRecord> = {}): MessageRecord => ({
  id: 'msg_1',
  created_at: '1800000000000000007',
  updated_at: '1800000000000000007',
  from: 'ses_1',
  to: 'ses_2',
  'in-reply-to': null,
  draft: false,
  buffered: true,
  accepted_at: null,
  accepted_by: null,
  initial: 'hello',
  message: 'hello\nworld',
  source: 'agent',
  status: 'buffered',
  ...more,
})

test('an inbox says for whom, from whom, since when, the whole text, and how to take one', () => {
  expect(
    renderInbox(
      [
        {
          session: 'ses_2',
          messages: [
            letter(),
            letter({ id: 'msg_2', from: null, message: 'second', 'in-reply-to': 'msg_0' }),
          ],
          total: 2,
        },
      ],
      view(),
    ),
  ).toEqual([
    'For ses_2: 2 messages wait',
    ' 1  planner (ses_1)                               1m 00s ago',
    '    msg_1',
    '    hello',
    '    world',
    ' 2  the user, answers msg_0                       1m 00s ago',
    '    msg_2',
    '    second',
    '    tieline accept ses_2   takes the oldest; a number or an id takes that one',
  ])
})

test('the user’s own inbox is called so, and what has no room is counted', () => {
  const lines = renderInbox(
    [
      { session: 'ses_2', messages: [], total: 0 },
      { session: 'ses_user', messages: [letter()], total: 201 },
    ],
    view({ width: 100 }),
  )
  expect(lines[0]).toBe('For you: 201 messages wait')
  expect(lines).toContain('    and 200 more')
  expect(lines.at(-1)).toContain('tieline accept me ')
  expect(renderInbox([], view())).toEqual(['No messages wait.'])
})

test('no line of a message is wider than the terminal, and none moves the cursor', () => {
  for (const width of [20, 40, 80]) {
    const message = letter({
      from: `ses_${'x'.repeat(100)}`,
      message: `\u001b[2J\u202e世界 ${'long '.repeat(100)}\nmore`,
    })
    for (const line of renderMessage(message, 1, view({ width })))
      expect([displayWidth(line) <= width, line.includes('\u001b') || line.includes('\u202e')]).toEqual([
        true,
        false,
      ])
  }
})

test('what was accepted is shown whole, without anything that moves the cursor; one that must wait says so', () => {
  expect(renderAccepted(letter({ status: 'delivered' }), view())).toEqual([
    'Accepted msg_1 from planner (ses_1)',
    '  hello',
    '  world',
  ])
  expect(renderAccepted(letter({ status: 'queued', message: '\u001b[31mred' }), view())).toEqual([
    'Accepted msg_1 from planner (ses_1)',
    '  [31mred',
    'ses_2 takes it up when it is done with what it does now.',
  ])
  expect(renderAccepted(letter({ status: 'ready', message: 'hello' }), view())).toEqual([
    'Released msg_1 from planner (ses_1)',
    '  hello',
    'ses_2 is a client: it takes it when it looks into its inbox.',
  ])
})

test('drafts, threads and dead letters', () => {
  expect(renderDrafts([letter({ to: null, status: 'draft' })], view())).toEqual([
    'planner (ses_1) to a new session                  1m 00s ago',
    '    msg_1',
    '    hello',
    '    world',
  ])
  expect(renderDrafts([], view())).toEqual(['No drafts.'])
  expect(renderDraftHelp([letter({ id: 'plan' }), letter()], view({ width: 200 }))).toEqual([
    expect.stringContaining('tieline inbox --release plan '),
  ])
  expect([renderDraftCount(0, true), renderDraftCount(1, true), renderDraftCount(200, false)]).toEqual([
    [],
    ['One draft waits to be released: tieline inbox --drafts'],
    ['200 or more drafts wait to be released: tieline inbox --drafts'],
  ])
  expect(renderLetters([letter({ status: 'dead' })], 'none', view())[0]).toBe(
    'planner (ses_1) to ses_2  dead                    1m 00s ago',
  )
  expect(renderLetters([], 'There are no dead letters.', view())).toEqual(['There are no dead letters.'])
})

test('nanoseconds become milliseconds', () =>
  expect(readMillis('1800000000000999999')).toBe(1_800_000_000_000))
