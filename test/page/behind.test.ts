/** The page has two sources, lists and events, and either may be behind the other. */
import { expect, test } from 'vitest'
import { millisToNanos } from '../../src/model/mail.ts'
import type { EventOf } from '../../src/model/event.ts'
import type { MessageRecord } from '../../src/wire/mail.ts'
import { findLooseTurns } from '../../web/src/conversation/loose-turns.ts'
import { foldMail, takeMail } from '../../web/src/live/fold-mail.ts'
import { createLedger, type Ledger, type TurnFact } from '../../web/src/live/ledger.ts'

const record = (message: string, seq: number): MessageRecord => ({
  id: 'one',
  from: 'ses_writer',
  to: 'ses_reader',
  source: 'agent',
  message,
  initial: 'First words',
  'in-reply-to': null,
  created_at: millisToNanos(1000, 1),
  updated_at: millisToNanos(1000, seq),
  accepted_at: null,
  accepted_by: null,
  status: 'draft',
  draft: true,
  buffered: false,
})

const revised = (text: string): EventOf<'message.revised'> => ({
  type: 'message.revised',
  session: 'ses_writer',
  turn: null,
  message: 'one',
  target: { kind: 'session', session: 'ses_reader' },
  inReplyTo: null,
  text,
  how: 'written',
  instructions: null,
  note: null,
  act: null,
})

const readDraft = ({ mail }: Ledger) => {
  const { text, version, initial } = mail.get('one') ?? {}
  return { text, version, initial }
}

test('"It was changed meanwhile." never appeared: a slow list brought the old draft back', () => {
  const ledger = createLedger()
  takeMail(ledger, record('First words', 1), 1)
  // Asked for after event 1, and answered after event 5 came.
  foldMail(ledger, revised('Other words'), { at: 2000, seq: 5, isNew: true })
  const changed = readDraft(ledger)
  takeMail(ledger, record('First words', 1), 1)
  expect(readDraft(ledger)).toEqual(changed)
  expect(changed).toMatchObject({ text: 'Other words', version: millisToNanos(2000, 5) })
  takeMail(ledger, record('Last words', 6), 6)
  expect(readDraft(ledger)).toMatchObject({ text: 'Last words', version: millisToNanos(1000, 6) })
})

test('a slow list still says what a single event does not', () => {
  const ledger = createLedger()
  foldMail(
    ledger,
    { type: 'message.declined', session: 'ses_reader', turn: null, message: 'one', by: null, from: null },
    { at: 2000, seq: 5, isNew: true },
  )
  takeMail(ledger, record('First words', 1), 1)
  expect(ledger.mail.get('one')).toMatchObject({
    status: 'declined',
    text: 'First words',
    initial: 'First words',
    from: 'ses_writer',
  })
})

const turn = (id: string, fields: Partial<TurnFact>): TurnFact => ({
  id,
  session: 'ses_a',
  agent: 'echo',
  flow: null,
  call: null,
  text: 'Hello',
  isUse: false,
  isLook: false,
  shown: null,
  source: 'user',
  from: null,
  applet: null,
  message: null,
  openedAt: 1000,
  openedSeq: 1,
  startedAt: 1000,
  deadline: null,
  endedAt: null,
  endedSeq: null,
  stopping: false,
  outcome: null,
  error: null,
  hasEntry: false,
  entryTokens: 0,
  usage: new Map(),
  tokensMax: null,
  depth: 0,
  ...fields,
})

test('one answer stood twice for a moment: the history had it before its event came', () => {
  const ledger = createLedger()
  ledger.sessions.set('ses_a', { turnIds: ['turn_1', 'turn_2'] } as never)
  ledger.turns.set('turn_1', turn('turn_1', {}))
  ledger.turns.set('turn_2', turn('turn_2', { openedSeq: 2, startedAt: null }))
  const entry = { at: 2000, turn: 'turn_1' as const }
  const shown = (total: number) =>
    findLooseTurns(ledger, 'ses_a', { entry: (n) => (n <= total ? entry : undefined) }, total)
  expect(shown(0).map(({ id }) => id)).toEqual(['turn_1', 'turn_2'])
  expect(shown(2).map(({ id }) => id)).toEqual(['turn_2'])
})
