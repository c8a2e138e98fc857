import type { Event, EventOf } from '../../../src/model/event.ts'
import { opensTurn } from '../../../src/model/opening.ts'
import { isLook, readTask } from '../../../src/model/request-name.ts'
import type { StreamedEvent } from '../../../src/wire/log.ts'
import { callFolds } from './fold-calls.ts'
import { foldMail, type MailEvent } from './fold-mail.ts'
import { sessionFolds } from './fold-sessions.ts'
import { turnFolds } from './fold-turns.ts'
import { ensureSession, nameAgent, type Ledger } from './ledger.ts'
import type { Folds, Moment, Touch } from './moment.ts'
import { ensureTurn, openTurn, shortenText } from './turn-facts.ts'

const folds: Folds = { ...sessionFolds, ...turnFolds, ...callFolds }

export function foldEvent(
  ledger: Ledger,
  { seq, at, event }: StreamedEvent,
  isNew: boolean,
  touch: Touch,
): void {
  const moment: Moment = { at, seq: Number(seq), isNew }
  const session = ensureSession(ledger, event.session, at)
  if (at > session.updatedAt) session.updatedAt = at
  const turn = event.turn === null ? null : ensureTurn(ledger, event.turn, event.session, moment)
  const fold = folds[event.type] as
    | ((ledger: Ledger, event: StreamedEvent['event'], moment: Moment, touch: Touch) => void)
    | undefined
  fold?.(ledger, event, moment, touch)
  touch(`session:${event.session}`)
  if (turn?.flow != null) touchFlow(ledger, turn.flow, moment.seq, touch)
  if (!isMail(event)) return
  foldMail(ledger, event, moment)
  if (opensTurn(event)) openByMessage(ledger, event, moment, touch)
  touch('mail')
  if (event.type !== 'message.sent' || event.turn === null) touch('sessions')
}

function touchFlow(ledger: Ledger, id: string, seq: number, touch: Touch): void {
  const flow = ledger.flows.get(id)
  if (flow !== undefined) flow.lastSeq = Math.max(flow.lastSeq, seq)
  touch(`flow:${id}`)
}

const isMail = (event: Event): event is MailEvent => event.type.startsWith('message.')

/** What a client asked for with a tool, which only its own turns have. */
const isUse = (event: EventOf<'message.sent'> | EventOf<'message.delivered'>): boolean =>
  event.type === 'message.sent' && event.use !== undefined

function openByMessage(
  ledger: Ledger,
  event: EventOf<'message.sent'> | EventOf<'message.delivered'>,
  moment: Moment,
  touch: Touch,
): void {
  const session = ensureSession(ledger, event.session, moment.at)
  if (moment.isNew || !session.isListed) session.archived = false
  if (event.turn === null) return
  const turn = ensureTurn(ledger, event.turn, event.session, moment)
  Object.assign(turn, {
    flow: event.flow,
    agent: nameAgent(ledger, event.grant.agent),
    text: shortenText(readTask(event, isUse(event))),
    isUse: isUse(event),
    isLook: isLook(event, isUse(event)),
    source: event.source,
    from: event.from,
    applet: event.applet,
    message: event.message,
    openedAt: moment.at,
    openedSeq: moment.seq,
    tokensMax: event.grant.tokensMax,
    depth: event.grant.depth,
  })
  if (session.agent === '') session.agent = event.grant.agent
  openTurn(ledger, turn, moment, touch)
}
