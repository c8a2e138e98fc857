import type { StreamedEvent } from '../../wire/log.ts'
import type { Event } from '../../model/event.ts'
import { toTurnId } from '../../model/id.ts'
import { opensTurn } from '../../model/opening.ts'
import { explain } from '../../model/refusal.ts'
import { preview } from '../../model/text.ts'
import { endWords, timeWords } from './amounts.ts'
import { firstLine, oneLine } from './width.ts'

export type Names = {
  add(session: string, agent: string): void
  learn(event: Event): void
  /** The agent behind an event, or the end of its session's id. */
  of(event: Pick<Event, 'session' | 'turn'>): string
  session(id: string): string
}

/** Whose a session is stands only in its first event and in what is sent to it: learned on the way. */
export function newNames(): Names {
  const sessions = new Map<string, string>()
  const turns = new Map<string, string>()
  const session = (id: string): string => sessions.get(id) ?? id
  return {
    session,
    add: (id, agent) => void sessions.set(id, agent),
    of: (event) => oneLine(turns.get(event.turn ?? '') ?? session(event.session)),
    learn(event) {
      if (event.type === 'session.created')
        sessions.set(event.session, sessions.get(event.session) ?? event.agent)
      if (opensTurn(event)) turns.set(event.turn, sessions.get(event.session) ?? event.grant.agent)
      if (event.type === 'call.opened') turns.set(toTurnId(event.call), event.grant.agent)
      if (event.type === 'turn.ended') turns.delete(event.turn ?? '')
    },
  }
}

const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})
const textPointsMax = 120

export const eventLine = ({ at, event }: StreamedEvent, names: Names): string =>
  `${clock.format(at)}  ${names.of(event)}  ${doing(event, names)}`

const short = (text: string): string => {
  const line = firstLine(text)
  const cut = preview(line, textPointsMax)
  return cut.length === line.length ? line : `${cut}…`
}

function doing(event: Event, names: Names): string {
  switch (event.type) {
    case 'agent.created':
      return `was made: ${oneLine(event.definition.title)}`
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
    case 'message.drafted':
    case 'message.revised':
      return event.type === 'message.revised' && event.revisedBy === 'user'
        ? `its draft ${event.message} was changed by the user: ${short(event.text)}`
        : `${event.type === 'message.drafted' ? 'drafts' : 'revises'} ${event.message}: ${short(event.text)}`
    case 'message.accepted':
      return `accepted ${event.message}${event.by === event.session ? '' : `, by ${event.by === null ? 'the user' : names.session(event.by)}`}`
    case 'message.delivered':
      return `has ${event.message} of ${event.from === null ? event.source : names.session(event.from)}: ${short(event.text)}`
    case 'message.answered':
      return `answered ${event.message} with ${event.reply}`
    case 'message.declined':
      return `${event.message} was declined by ${event.by === null ? 'the user' : names.session(event.by)}`
    case 'message.died':
      return `${event.message} was not read: ${oneLine(event.cause)}`
    case 'message.sent':
      return `${event.turn === null ? 'has mail from' : 'was told by'} ${event.from === null ? event.source : names.session(event.from)}${event.releasedBy === 'user' ? ', released by the user' : ''}: ${short(event.text)}`
    case 'turn.started':
      return 'begins'
    case 'turn.suspended':
      return 'was left when the server was stopped'
    case 'turn.cancelled':
      return `was told to stop: ${endWords(event.outcome, event.cause)}`
    case 'turn.ended':
      return `${event.outcome === 'completed' ? 'is done' : endWords(event.outcome, event.error)} (${event.tokensUsed + event.tokensBelow} tokens)${event.output === '' ? '' : `: ${short(event.output)}`}`
    case 'step.started':
      return `uses ${oneLine(event.name)}`
    case 'step.ended':
      return event.kind === 'tool'
        ? `used ${oneLine(event.name)}${event.ok ? '' : ', which failed'}`
        : `${event.kind === 'model' ? 'thought' : 'made a summary'} (${(event.usage?.input ?? 0) + (event.usage?.output ?? 0)} tokens)`
    case 'call.opened':
      return `calls ${oneLine(event.grant.agent)} (${event.call}): ${short(event.task)}`
    case 'call.refused':
      return `may not call ${oneLine(event.agent)}: ${oneLine(explain(event.refusal))}`
    case 'call.ended':
      return `got back ${event.call}: ${event.outcome === 'completed' ? short(event.output) : endWords(event.outcome, event.errors[0] ?? null)} (${event.tokensUsed} tokens, ${timeWords(event.endedAt - event.openedAt)})`
    case 'wait.started':
      return `waits for ${names.session(event.target)}`
    case 'wait.ended':
      return `waits no longer for ${names.session(event.target)}: ${oneLine(event.reason)}`
    case 'question.asked':
      return `asks whether it may use ${oneLine(event.tool)} (${event.question})`
    case 'question.answered':
      return `was told ${event.answer} by ${oneLine(event.by)} (${event.question})`
    case 'notice.raised':
      return `notice: ${short(event.text)}`
  }
  // A server of a later version may send events that are not known here.
  return (event as Event).type
}
