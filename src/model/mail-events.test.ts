/** What is recorded of a message, field by field, and what those learn who come too late. */
import { expect, test } from 'vitest'
import { author, blank, draftOf, sentEvent } from '../../test/kits/message-facts.ts'
import {
  acceptMessage,
  answeredEvent,
  beforeSending,
  buryMessages,
  changeable,
  declineMessage,
  draftMessage,
  isOver,
  isWaiting,
  millisToNanos,
  pickWaiting,
  replyTo,
  taken,
} from './mail.ts'

const sent = sentEvent('m', 'ses_a', 'ses_b', 'Hello', null, null)
const waiting = blank({ id: 'm', status: 'buffered', owner: 'ses_a', from: 'ses_a', to: 'ses_b', sent })
const draft = blank({
  id: 'm',
  owner: 'ses_a',
  from: 'ses_a',
  text: 'x',
  initial: 'x',
  target: { kind: 'session', session: 'ses_b' },
})
const notice = { type: 'notice.raised', session: 'ses_a', turn: null, about: 'm' }

test('a version is the moment and the number of its event, in one number that only grows', () => {
  expect(millisToNanos(1234.9, 56)).toBe('1234000056')
  expect(millisToNanos(1, 1_000_007)).toBe('1000007')
})

test('where a message is in its life', () => {
  const all = ['draft', 'buffered', 'ready', 'queued', 'delivered', 'answered', 'declined', 'dead'] as const
  expect(all.filter((status) => isWaiting({ status }))).toEqual(['buffered', 'ready'])
  expect(all.filter((status) => isOver({ status }))).toEqual(['delivered', 'answered', 'declined', 'dead'])
})

test('M3: a draft is changed by its owner and the user; what was sent, by nobody', () => {
  expect(changeable(draft, 'ses_a')).toBeNull()
  expect(changeable(draft, 'user')).toBeNull()
  expect(changeable(draft, 'ses_b')).toStrictEqual({ code: 'message_not_yours', message: 'm' })
  expect(changeable(waiting, 'ses_a')).toStrictEqual({ code: 'message_already_sent', message: 'm' })
})

const place = {
  session: 'ses_a',
  turn: null,
  message: 'm',
  target: { kind: 'session', session: 'ses_b' },
  inReplyTo: null,
  act: null,
}
const revised = {
  type: 'message.revised',
  ...place,
  text: 'y',
  how: 'written',
  instructions: null,
  note: null,
}

test('a draft is recorded as it was written, and then as it was made', () => {
  expect(draftMessage(null, author('ses_a'), draftOf('m', 'ses_b', 'x'))).toStrictEqual([
    { type: 'message.drafted', ...place, source: 'agent', text: 'x' },
  ])
  const made = draftOf('m', 'ses_b', 'x', { text: 'y', how: 'iterated', instructions: 'longer', note: 'n' })
  expect(draftMessage(null, author('ses_a'), made)).toStrictEqual([
    { type: 'message.drafted', ...place, source: 'agent', text: 'x' },
    { ...revised, how: 'iterated', instructions: 'longer', note: 'n' },
  ])
})

test('a change by the user says so, and in which turn the draft was written', () => {
  const known = { ...draft, writtenIn: 'turn_1' as const }
  const byUser = { ...author('ses_a'), by: 'user' as const }
  expect(draftMessage(known, byUser, draftOf('m', 'ses_b', 'y'))).toStrictEqual([
    { ...revised, revisedBy: 'user', writtenIn: 'turn_1' },
  ])
  expect(draftMessage(draft, author('ses_a'), draftOf('msg_m', 'ses_b', 'y'))).toStrictEqual([revised])
})

test('a change of act alone is none, and a draft without an act is never the same act', () => {
  const unnamed = { ...draft, draftAct: null }
  expect(draftMessage(unnamed, author('ses_a'), draftOf('m', 'ses_b', 'y'))).toHaveLength(1)
  expect(draftMessage(draft, author('ses_a'), draftOf('m', 'ses_b', 'y', { act: 'other' }))).toHaveLength(1)
})

test('another place to fork from is a change, the same one is not', () => {
  const fork = (back: number) => ({ kind: 'fork' as const, back })
  const known = { ...draft, target: fork(2) }
  const to = (back: number) => draftOf('m', 'ses_b', 'x', { target: fork(back) })
  expect(draftMessage(known, author('ses_a'), to(2))).toEqual([])
  expect(draftMessage(known, author('ses_a'), to(3))).toHaveLength(1)
  expect(draftMessage({ ...draft, target: { kind: 'new' } }, author('ses_a'), to(2))).toHaveLength(1)
})

test('a draft that is sent with the text it had records nothing more; a changed one does', () => {
  expect(beforeSending(draft, author('ses_a'), draftOf('m', 'ses_b', 'x'))).toEqual([])
  expect(beforeSending(draft, author('ses_a'), draftOf('m', 'ses_b', 'y'))).toStrictEqual([revised])
  expect(beforeSending(draft, author('ses_a'), null)).toEqual([])
  expect(beforeSending(null, author('ses_a'), null)).toEqual([])
})

test('M4: only the receiver of what was delivered replies, and to who wrote it', () => {
  const read = { ...waiting, status: 'delivered' as const }
  expect(replyTo('given', null, 'ses_b')).toStrictEqual({ code: 'message_unknown', message: 'given' })
  expect(replyTo('m', read, 'ses_b')).toBe('ses_a')
  expect(replyTo('m', { ...read, status: 'answered' }, 'ses_b')).toBe('ses_a')
  expect(replyTo('m', { ...read, from: null }, 'ses_b')).toBe('ses_user')
  for (const [known, replier] of [
    [waiting, 'ses_b'],
    [read, 'ses_c'],
    [{ ...read, status: 'declined' as const }, 'ses_b'],
  ] as const)
    expect(replyTo('m', known, replier)).toStrictEqual({ code: 'reply_not_addressed', message: 'm' })
  const answered = { type: 'message.answered', turn: 'turn_1', message: 'm', reply: 'r', from: 'ses_a' }
  expect(answeredEvent(read, 'r', 'turn_1')).toStrictEqual({ ...answered, session: 'ses_b' })
  expect(answeredEvent({ ...read, to: null }, 'r', 'turn_1')).toStrictEqual({ ...answered, session: 'ses_a' })
})

test('M2: an accepted message is delivered in the same breath, to a new turn or to the one that accepts', () => {
  const ask = { by: 'ses_b', turn: 'turn_1', opens: true, act: 'act', tokens: 9 } as const
  const accepted = {
    type: 'message.accepted',
    session: 'ses_b',
    message: 'm',
    by: 'ses_b',
    act: 'act',
    from: 'ses_a',
  }
  const delivered = { ...sent, type: 'message.delivered', session: 'ses_b', turn: 'turn_1', tokens: 9 }
  expect(acceptMessage(waiting, ask)).toStrictEqual([
    { ...accepted, turn: null },
    { ...delivered, opens: true },
  ])
  const notices = { upTo: 3, texts: [] }
  expect(acceptMessage(waiting, { ...ask, opens: false, notices })).toStrictEqual([
    { ...accepted, turn: 'turn_1' },
    { ...delivered, opens: false, notices },
  ])
  for (const gone of [
    { ...waiting, sent: null },
    { ...waiting, to: null },
  ])
    expect(acceptMessage(gone, ask)).toMatchObject({ code: 'message_taken', how: 'buffered' })
  expect(acceptMessage({ ...waiting, status: 'declined' }, ask)).toMatchObject({ how: 'declined' })
})

test('a message is declined once, and its sender hears who did', () => {
  const declined = { type: 'message.declined', turn: null, message: 'm', from: 'ses_a' }
  expect(declineMessage(waiting, 'ses_b')).toStrictEqual([
    { ...declined, session: 'ses_b', by: 'ses_b' },
    { ...notice, text: 'Message m to ses_b was declined by ses_b.' },
  ])
  expect(declineMessage(waiting, null)).toStrictEqual([
    { ...declined, session: 'ses_b', by: null },
    { ...notice, text: 'Message m to ses_b was declined by the user.' },
  ])
  expect(declineMessage(draft, null)).toStrictEqual([{ ...declined, session: 'ses_a', by: null }])
  expect(declineMessage({ ...waiting, status: 'declined' }, null)).toEqual([])
  expect(declineMessage({ ...waiting, to: null }, null)).toMatchObject({
    code: 'message_taken',
    by: 'nobody',
  })
})

test('a dead letter says why, and its sender hears of it; the user does not', () => {
  const died = { type: 'message.died', turn: null, message: 'm', from: 'ses_a', cause: 'it is gone' }
  expect(buryMessages([waiting, draft], 'it is gone')).toStrictEqual([
    { ...died, session: 'ses_b' },
    { ...notice, text: 'Message m to ses_b was not read: it is gone.' },
  ])
  expect(buryMessages([{ ...waiting, to: null }], 'it is gone')).toStrictEqual([
    { ...died, session: 'ses_a' },
    { ...notice, text: 'Message m to nobody was not read: it is gone.' },
  ])
  expect(buryMessages([{ ...waiting, from: null }], 'it is gone')).toHaveLength(1)
})

test('who comes too late learns what became of it, and by whom', () => {
  const late = (status: typeof waiting.status, acceptedBy: typeof waiting.acceptedBy = null) =>
    taken({ ...waiting, status, acceptedBy })
  const told = { code: 'message_taken', message: 'm' }
  expect(late('delivered', 'user')).toStrictEqual({ ...told, how: 'accepted', by: 'the user' })
  expect(late('answered', 'ses_c')).toStrictEqual({ ...told, how: 'accepted', by: 'ses_c' })
  expect(late('queued')).toStrictEqual({ ...told, how: 'accepted', by: 'ses_b' })
  expect(late('dead')).toStrictEqual({ ...told, how: 'given up', by: 'nobody' })
  expect(late('draft')).toStrictEqual({ code: 'message_unknown', message: 'm' })
})

test('what waits is picked by its place, its id or its number', () => {
  const two = [waiting, { ...waiting, id: '2024' }]
  const pick = (name: string) => pickWaiting(two, { kind: 'named', name })?.id ?? null
  expect(pickWaiting(two, { kind: 'oldest' })?.id).toBe('m')
  expect(pickWaiting(two, { kind: 'newest' })?.id).toBe('2024')
  expect(pickWaiting([], { kind: 'oldest' })).toBeNull()
  expect(pickWaiting([], { kind: 'newest' })).toBeNull()
  expect([pick('2'), pick('2024'), pick('m'), pick('3'), pick('0')]).toEqual([
    '2024',
    '2024',
    'm',
    null,
    null,
  ])
  expect([pick('2x'), pick('x2'), pick(' 2'), pick('1.0')]).toEqual([null, null, null, null])
})
