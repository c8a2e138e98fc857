import { expect, test } from 'vitest'
import {
  beforeSending,
  buryMessages,
  declineMessage,
  draftMessage,
  isOver,
  pickWaiting,
  sameMessage,
  taken,
} from './mail.ts'
import { author, blank, draftOf } from '../../test/kits/message-facts.ts'

test('M5: the same act again changes nothing, and a change that changes nothing is none', () => {
  const known = blank({
    id: 'm',
    owner: 'ses_a',
    text: 'x',
    initial: 'x',
    target: { kind: 'session', session: 'ses_b' },
    draftAct: 'act',
  })
  expect(draftMessage(known, author('ses_a'), draftOf('m', 'ses_b', 'x'))).toEqual([])
  expect(draftMessage(known, author('ses_a'), draftOf('m', 'ses_b', 'y', { act: 'act' }))).toEqual([])
  expect(draftMessage(known, author('ses_a'), draftOf('m', 'ses_c', 'x'))).toMatchObject([
    { type: 'message.revised', target: { session: 'ses_c' } },
  ])
  expect(
    draftMessage(known, author('ses_a'), draftOf('m', 'ses_b', 'x', { how: 'elaborated', note: 'no model' })),
  ).toMatchObject([{ note: 'no model', text: 'x' }])
  expect(draftMessage(known, author('ses_b'), draftOf('m', 'ses_b', 'y'))).toEqual({
    code: 'message_not_yours',
    message: 'm',
  })
  expect(beforeSending({ ...known, status: 'buffered' }, author('ses_a'), null)).toBe('known')
  expect(beforeSending(known, author('ses_b'), null)).toEqual({ code: 'message_not_yours', message: 'm' })
})

test('what was made of a text is recorded with what was written', () => {
  const events = draftMessage(
    null,
    author('ses_a'),
    draftOf('m', 'ses_b', 'short', { text: 'written out', how: 'elaborated' }),
  )
  expect(events).toMatchObject([
    { type: 'message.drafted', text: 'short' },
    { type: 'message.revised', text: 'written out', how: 'elaborated' },
  ])
  expect(beforeSending(null, author('ses_a'), draftOf('m', 'ses_b', 'short'))).toEqual([])
  expect(
    beforeSending(
      null,
      author('ses_a'),
      draftOf('m', 'ses_b', 'short', { note: 'no model', how: 'elaborated' }),
    ),
  ).toHaveLength(2)
})

test('M2: who comes later learns what became of it, and by whom', () => {
  const to = { id: 'm', to: 'ses_b' as const }
  expect(taken(blank({ ...to, status: 'delivered', acceptedBy: 'user' }))).toEqual({
    code: 'message_taken',
    message: 'm',
    how: 'accepted',
    by: 'the user',
  })
  expect(taken(blank({ ...to, status: 'delivered' }))).toMatchObject({ how: 'accepted', by: 'ses_b' })
  expect(taken(blank({ ...to, status: 'declined', acceptedBy: 'ses_p' }))).toMatchObject({
    how: 'declined',
    by: 'ses_p',
  })
  expect(taken(blank({ ...to, status: 'dead' }))).toMatchObject({ how: 'given up', by: 'nobody' })
  expect(taken(blank({ ...to }))).toEqual({ code: 'message_unknown', message: 'm' })
})

test('one is picked by place, by id, or by number; an id wins over a number', () => {
  const waiting = ['a', 'b', '1', 'd'].map((name) => blank({ id: name, status: 'buffered' }))
  const named = (name: string) => pickWaiting(waiting, { kind: 'named', name })?.id
  expect([
    pickWaiting(waiting, { kind: 'oldest' })?.id,
    pickWaiting(waiting, { kind: 'newest' })?.id,
  ]).toEqual(['a', 'd'])
  expect([
    named('b'),
    named('msg_b'),
    named('2'),
    named('1'),
    named('5'),
    named('0'),
    named('x'),
    named('2.5'),
  ]).toEqual(['b', 'b', 'b', '1', undefined, undefined, undefined, undefined])
  expect(pickWaiting([], { kind: 'oldest' })).toBeNull()
})

test('an id with and without its kind is one id', () => {
  expect([
    sameMessage('msg_x', 'x'),
    sameMessage('x', 'x'),
    sameMessage('msg_msg_x', 'msg_x'),
    sameMessage('y', 'x'),
  ]).toEqual([true, true, false, false])
})

test('only what waits can die or be declined, and whoever wrote it is told', () => {
  const waiting = blank({ id: 'm', status: 'buffered', from: 'ses_a', to: 'ses_b' })
  expect(buryMessages([waiting, { ...waiting, id: 'n', status: 'delivered' }], 'it is gone')).toMatchObject([
    { type: 'message.died', message: 'm', session: 'ses_b' },
    { type: 'notice.raised', session: 'ses_a', about: 'm' },
  ])
  expect(declineMessage(waiting, null)).toMatchObject([
    { type: 'message.declined', by: null },
    { type: 'notice.raised', session: 'ses_a' },
  ])
  expect(declineMessage({ ...waiting, from: null }, 'ses_b')).toHaveLength(1)
  expect(declineMessage({ ...waiting, status: 'queued' }, null)).toMatchObject({ code: 'message_taken' })
  expect([isOver({ status: 'dead' }), isOver({ status: 'ready' })]).toEqual([true, false])
})
