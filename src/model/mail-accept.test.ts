/** Who may take what waits, what a person's accept comes to, and how ids of messages are read. */
import { expect, test } from 'vitest'
import { blank } from '../../test/kits/message-facts.ts'
import type { MessageStatus } from './facts.ts'
import {
  idSuffix,
  isOver,
  isWaiting,
  judgeAccept,
  looksDrawn,
  messageIdPattern,
  millisToNanos,
  pickWaiting,
  releaseMessage,
  replyTo,
  sameMessage,
  taken,
  userSession,
} from './mail.ts'

const receiver = (kind: string, id: `ses_${string}` = 'ses_to') => ({ id, kind })
const by = (session: `ses_${string}` | null, address: `ses_${string}` | null = null) => ({ session, address })

test.each([
  ['the session itself', receiver('external'), by('ses_to'), 'accept'],
  ['a client at its address', receiver('external'), by('ses_other', 'ses_to'), 'accept'],
  ['another, for a session that is run here', receiver('persistent'), by('ses_other'), 'accept'],
  ['the user, for a session that is run here', receiver('persistent'), by(null), 'accept'],
  ['the user, for a client', receiver('external'), by(null), 'release'],
  ['the user, for its own', receiver('external', userSession), by(null), 'accept'],
] as const)('M6: %s', (_who, to, from, judged) => {
  expect(judgeAccept(to, from)).toBe(judged)
})

test('M6: another session takes nothing of a client, and reads what it may do', () => {
  expect(judgeAccept(receiver('external'), by('ses_other', 'ses_third'))).toEqual({
    code: 'not_allowed',
    agent: 'Session ses_other',
    what: 'accept mail for ses_to, which a client outside runs',
    allowed: ['reading it', 'its own mail'],
  })
})

test('M6: a release is recorded once, of what is buffered', () => {
  const known = blank({ id: 'm', to: 'ses_to', from: 'ses_from', status: 'buffered' })
  expect(releaseMessage(known, 'act')).toEqual([
    { type: 'message.released', session: 'ses_to', turn: null, message: 'm', act: 'act', from: 'ses_from' },
  ])
  expect(releaseMessage({ ...known, status: 'ready' }, 'act')).toEqual([])
  expect(releaseMessage({ ...known, to: null }, 'act')).toEqual([])
})

test('an id is the same with its kind and without it', () => {
  expect(['msg_1', '1', 'xmsg_1', '1msg_'].map(idSuffix)).toEqual(['1', '1', 'xmsg_1', '1msg_'])
  expect(sameMessage('msg_1', '1')).toBe(true)
  expect(sameMessage('msg_1', 'msg_2')).toBe(false)
  const drawn = '1'.repeat(21)
  expect(
    [drawn, `msg_${drawn}`, `${drawn}1`, drawn.slice(1), `x${drawn}`, `${drawn}x`].map(looksDrawn),
  ).toEqual([true, true, false, false, false, false])
})

test.each([
  ['a', true],
  ['A-z_9', true],
  ['x'.repeat(128), true],
  ['x'.repeat(129), false],
  ['', false],
  ['a b', false],
  [' a', false],
  ['a.b', false],
])('%j can be chosen as the id of a message: %s', (id, can) => {
  expect(messageIdPattern.test(id)).toBe(can)
})

test('a time in nanoseconds ends with the number of its event', () => {
  expect(millisToNanos(1.9, 7)).toBe('1000007')
  expect(millisToNanos(2, 1_000_001)).toBe('2000001')
})

const statuses: MessageStatus[] = [
  'draft',
  'ready',
  'buffered',
  'queued',
  'delivered',
  'answered',
  'declined',
  'dead',
]

test('what waits, and what is over', () => {
  expect(statuses.filter((status) => isWaiting({ status }))).toEqual(['ready', 'buffered'])
  expect(statuses.filter((status) => isOver({ status }))).toEqual([
    'delivered',
    'answered',
    'declined',
    'dead',
  ])
  expect(userSession).toBe('ses_user')
})

test('M2: what became of a message is said in its words', () => {
  const known = blank({ id: 'm', to: 'ses_to', acceptedBy: 'ses_by' })
  const how = (status: MessageStatus): string => {
    const refusal = taken({ ...known, status })
    return refusal.code === 'message_taken' ? `${refusal.how} by ${refusal.by}` : refusal.code
  }
  expect(statuses.map(how)).toEqual([
    'message_unknown',
    'ready by ses_by',
    'buffered by ses_by',
    'accepted by ses_by',
    'accepted by ses_by',
    'accepted by ses_by',
    'declined by ses_by',
    'given up by ses_by',
  ])
  const who = (more: object): unknown => taken({ ...known, status: 'delivered', ...more })
  expect(who({ acceptedBy: 'user' })).toMatchObject({ by: 'the user' })
  expect(who({ acceptedBy: null })).toMatchObject({ by: 'ses_to' })
  expect(who({ acceptedBy: null, to: null })).toMatchObject({ by: 'nobody' })
  expect(who({ acceptedBy: null, status: 'dead' })).toMatchObject({ by: 'nobody' })
})

test('M4: a reply answers what reached the replier, by its address too', () => {
  const known = blank({ id: 'm', from: 'ses_from', to: 'ses_to', status: 'delivered', turn: null })
  expect(replyTo('m', null, 'ses_to')).toEqual({ code: 'message_unknown', message: 'm' })
  expect(replyTo('m', known, 'ses_to')).toBe('ses_from')
  expect(replyTo('m', { ...known, status: 'answered' }, 'ses_to')).toBe('ses_from')
  expect(replyTo('m', { ...known, from: null }, 'ses_to')).toBe('ses_user')
  const refused = { code: 'reply_not_addressed', message: 'm' }
  expect(replyTo('m', { ...known, status: 'queued' }, 'ses_to')).toEqual(refused)
  expect(replyTo('m', known, 'ses_other')).toEqual(refused)
  expect(replyTo('m', { ...known, acceptedBy: 'ses_other' }, 'ses_other')).toBe('ses_from')
  expect(replyTo('m', { ...known, acceptedBy: 'ses_other', turn: 'turn_1' }, 'ses_other')).toEqual(refused)
})

test('what waits is picked by place, id, or number from 1', () => {
  const waiting = ['a', 'b', '7'].map((id) => blank({ id, status: 'buffered' }))
  const pick = (name: string): string | null => pickWaiting(waiting, { kind: 'named', name })?.id ?? null
  expect(pickWaiting(waiting, { kind: 'oldest' })?.id).toBe('a')
  expect(pickWaiting(waiting, { kind: 'newest' })?.id).toBe('7')
  expect(pickWaiting([], { kind: 'oldest' })).toBeNull()
  expect(pickWaiting([], { kind: 'newest' })).toBeNull()
  expect(['b', 'msg_b', '1', '3', '7', '4', '0', '01', 'x', '1x', 'x1', '1234567890'].map(pick)).toEqual([
    'b',
    'b',
    'a',
    '7',
    '7',
    null,
    null,
    null,
    null,
    null,
    null,
    null,
  ])
})
