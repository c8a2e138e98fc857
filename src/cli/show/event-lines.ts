/** Events as lines, for `tieline tail`. Pure. */
import type { StreamedEvent } from '../../wire/log.ts'
import type { Event, EventOf } from '../../model/event.ts'
import { describeStepMove } from '../../model/fallback.ts'
import { toTurnId } from '../../model/id.ts'
import { opensTurn } from '../../model/opening.ts'
import { explain } from '../../model/refusal.ts'
import { preview } from '../../model/text.ts'
import { isoTime } from '../../runtime/kernel/system-clock.ts'
import { describeEnd, formatDuration } from './amounts.ts'
import { firstLine, oneLine } from './width.ts'

export type Names = {
  add(session: string, agent: string): void
  learn(event: Event): void
  /** The agent behind an event, or else the id of its session. */
  findAgent(event: Pick<Event, 'session' | 'turn'>): string
  findSession: (id: string) => string
}

/** Learns on the way which agent a session has: only its first event and what is sent to it say so. */
export function trackNames(): Names {
  const sessions = new Map<string, string>()
  const turns = new Map<string, string>()
  const findSession = (id: string): string => sessions.get(id) ?? id
  return {
    findSession,
    add: (id, agent) => void sessions.set(id, agent),
    findAgent: (event) => oneLine(turns.get(event.turn ?? '') ?? findSession(event.session)),
    learn(event) {
      if (event.type === 'session.created')
        sessions.set(event.session, sessions.get(event.session) ?? event.agent)
      if (opensTurn(event)) turns.set(event.turn, sessions.get(event.session) ?? event.grant.agent)
      if (event.type === 'call.opened') turns.set(toTurnId(event.call), event.grant.agent)
      if (event.type === 'turn.ended') turns.delete(event.turn ?? '')
    },
  }
}

/** Made with the first line: it loads the rules of a locale, 12 ms, and every command loads this file. */
const formatTime = (at: number): string =>
  (clock ??= new Intl.DateTimeFormat('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
  })).format(at)
let clock: Intl.DateTimeFormat | null = null
const textPointsMax = 120

export function renderEvent({ at, event }: StreamedEvent, names: Names): string {
  const says = isMail(event) ? describeMail(event, names) : describeWork(event, names)
  return `${formatTime(at)}  ${names.findAgent(event)}  ${says}`
}

function shorten(text: string): string {
  const line = firstLine(text)
  const cut = preview(line, textPointsMax)
  return cut.length === line.length ? line : `${cut}…`
}

type MailEvent = Extract<Event, { type: `message.${string}` }>

const isMail = (event: Event): event is MailEvent => event.type.startsWith('message.')

function describeMail(event: MailEvent, { findSession }: Names): string {
  const nameActor = (by: string | null): string => (by === null ? 'the user' : findSession(by))
  const nameSender = ({ from, source }: { from: string | null; source: string }): string =>
    from === null ? source : findSession(from)
  switch (event.type) {
    case 'message.drafted':
      return `drafts ${event.message}: ${shorten(event.text)}`
    case 'message.revised':
      return event.revisedBy === 'user'
        ? `its draft ${event.message} was changed by the user: ${shorten(event.text)}`
        : `revises ${event.message}: ${shorten(event.text)}`
    case 'message.sent': {
      const released = event.releasedBy === 'user' ? ', released by the user' : ''
      const verb = event.turn === null ? 'has mail from' : 'was told by'
      return `${verb} ${nameSender(event)}${released}: ${shorten(event.text)}`
    }
    case 'message.released':
      return `may have ${event.message}: the user has released it`
    case 'message.accepted':
      return `accepted ${event.message}${event.by === event.session ? '' : `, by ${nameActor(event.by)}`}`
    case 'message.delivered':
      return `has ${event.message} of ${nameSender(event)}: ${shorten(event.text)}`
    case 'message.answered':
      return `answered ${event.message} with ${event.reply}`
    case 'message.declined':
      return `${event.message} was declined by ${nameActor(event.by)}`
    case 'message.died':
      return `${event.message} was not read: ${oneLine(event.cause)}`
  }
  return describeUnknown(event)
}

/** A server of a later version may send events that are not known here. */
const describeUnknown = (event: never): string => (event as Event).type

function describeStep(event: EventOf<'step.ended'>): string {
  if (event.kind === 'tool') return `used ${oneLine(event.name)}${event.ok ? '' : ', which failed'}`
  if (event.kind === 'move') return oneLine(describeStepMove(event.output))
  const tokens = (event.usage?.input ?? 0) + (event.usage?.output ?? 0)
  return `${event.kind === 'model' ? 'thought' : 'made a summary'} (${tokens} tokens)`
}

function describeWork(event: Exclude<Event, MailEvent>, names: Names): string {
  switch (event.type) {
    case 'agent.created':
      return `was created: ${oneLine(event.definition.title)}`
    case 'agent.deleted':
      return 'was deleted'
    case 'session.created':
      return `${event.kind} session ${event.session} in ${oneLine(event.cwd)}`
    case 'session.renamed':
      return `is called ${oneLine(event.title)} now`
    case 'session.adopted':
      return event.parent === null ? 'belongs to nobody now' : `belongs to ${event.parent} now`
    case 'session.archived':
      return `session ${event.session} was archived (${event.cause})`
    case 'session.cancelled':
      return 'was asked to end what it does'
    case 'session.claimed':
      return `was taken up by ${event.node}`
    case 'session.forked':
      return `shares the first ${event.entries} messages of ${event.from}`
    case 'turn.started':
      return 'begins'
    case 'turn.suspended':
      return 'was suspended when the server was stopped'
    case 'turn.cancelled':
      return `was told to stop: ${describeEnd(event.outcome, event.cause)}`
    case 'turn.ended': {
      const end = event.outcome === 'completed' ? 'is done' : describeEnd(event.outcome, event.error)
      const output = event.output === '' ? '' : `: ${shorten(event.output)}`
      return `${end} (${event.tokensUsed + event.tokensBelow} tokens)${output}`
    }
    case 'step.started':
      return `uses ${oneLine(event.name)}`
    case 'step.ended':
      return describeStep(event)
    case 'call.opened':
      return `calls ${oneLine(event.grant.agent)} (${event.call}): ${shorten(event.task)}`
    case 'call.refused':
      return `may not call ${oneLine(event.agent)}: ${oneLine(explain(event.refusal))}`
    case 'call.ended': {
      const { outcome, output, errors, tokensUsed } = event
      const end = outcome === 'completed' ? shorten(output) : describeEnd(outcome, errors[0] ?? null)
      return `got back ${event.call}: ${end} (${tokensUsed} tokens, ${formatDuration(event.endedAt - event.openedAt)})`
    }
    case 'call.steered':
      return `was told by ${event.from === null ? 'the user' : names.findSession(event.from)}: ${shorten(event.text)}`
    case 'wait.started':
      return `waits for ${names.findSession(event.target)}`
    case 'wait.ended':
      return `waits no longer for ${names.findSession(event.target)}: ${oneLine(event.reason)}`
    case 'question.asked':
      return `asks whether it may use ${oneLine(event.tool)} (${event.question})`
    case 'question.answered':
      return `was answered ${event.answer} by ${oneLine(event.by)} (${event.question})`
    case 'flow.seen':
      return 'was seen by you'
    case 'notice.raised':
      return `notice: ${shorten(event.text)}`
    case 'mail.announced':
    case 'session.woken':
    case 'session.opened':
    case 'session.closed':
    case 'session.quieted':
      return describeProgram(event)
  }
  return describeUnknown(event)
}

/** Of a program that the user has open. */
function describeProgram(
  event: EventOf<
    'mail.announced' | 'session.woken' | 'session.opened' | 'session.closed' | 'session.quieted'
  >,
): string {
  switch (event.type) {
    case 'mail.announced':
      return `was told of mail: ${oneLine(event.messages.join(', '))}`
    case 'session.woken':
      return `was made to go on: ${oneLine(event.reason)}`
    case 'session.opened':
      return `was opened in ${oneLine(event.program)}`
    case 'session.closed':
      return `was closed: ${oneLine(event.cause)}`
    case 'session.quieted':
      return event.until === 0 ? 'is quiet no longer' : `is quiet until ${isoTime(event.until)}`
  }
}
