/** Messages for tests of their rules. */
import { grantOf } from './store.ts'
import { type EventOf } from '../../src/model/event.ts'
import type { MessageFacts } from '../../src/model/facts.ts'
import type { SessionId } from '../../src/model/id.ts'
import { userSession, type Author, type Draft } from '../../src/model/mail.ts'

export const author = (session: SessionId): Author => ({ session, turn: null, source: 'agent' })
export const draftOf = (message: string, to: SessionId, text: string, more: Partial<Draft> = {}): Draft => ({
  message,
  target: { kind: 'session', session: to },
  inReplyTo: null,
  initial: text,
  text,
  how: 'written',
  instructions: null,
  note: null,
  act: null,
  ...more,
})
export const blank = (more: Partial<MessageFacts>): MessageFacts => ({
  id: '',
  status: 'draft',
  owner: 'ses_a',
  from: null,
  to: null,
  inReplyTo: null,
  createdAt: 0,
  createdSeq: 0,
  updatedAt: 0,
  updatedSeq: 0,
  acceptedAt: null,
  acceptedSeq: null,
  acceptedBy: null,
  turn: null,
  revisions: 0,
  draftAct: null,
  source: 'agent',
  initial: '',
  text: '',
  target: { kind: 'new' },
  writtenIn: null,
  sent: null,
  ...more,
})

export const sentEvent = (
  message: string,
  from: SessionId,
  to: SessionId,
  text: string,
  turn: `turn_${string}` | null,
  inReplyTo: string | null,
): EventOf<'message.sent'> => ({
  type: 'message.sent',
  session: to,
  turn,
  message,
  flow: 'flow_1',
  from: from === userSession ? null : from,
  senderTurn: null,
  source: 'agent',
  applet: null,
  inReplyTo,
  text,
  tokens: 1,
  deadline: null,
  trace: null,
  grant: grantOf('x'),
})
