/** Messages as lines of a terminal. Pure. */
import { isWaiting } from '../../model/mail.ts'
import type { MessageRecord } from '../../wire/mail.ts'
import { renderForeign } from '../chat/question.ts'
import { formatDuration } from './amounts.ts'
import { joinSegments, paint, segment, type Segment } from './segment.ts'
import { oneLine } from './width.ts'

export type MailView = {
  width: number
  colour: boolean
  now: number
  /** What people call the agent of a session. */
  nameOf: (session: string) => string | null
}

/** From nanoseconds as a decimal text. */
export const readMillis = (nanos: string): number => Number(BigInt(nanos) / 1_000_000n)

const userSession = 'ses_user'

function nameSession(session: string | null, { nameOf }: MailView): string {
  if (session === null || session === userSession) return 'the user'
  const name = nameOf(session)
  return name === null || name === session ? session : `${oneLine(name)} (${session})`
}

const describeReply = (message: MessageRecord): Segment[] =>
  message['in-reply-to'] === null ? [] : [segment(`, answers ${message['in-reply-to']}`, 'dim')]

/** Who and when, the id, and the whole text: a person decides on it, so nothing that is decided on is cut. */
function renderWhole(message: MessageRecord, head: Segment[], view: MailView): string[] {
  const ago = `${formatDuration(Math.max(0, view.now - readMillis(message.updated_at)))} ago`
  return [
    joinSegments(view, head, [segment(ago, 'dim')]),
    paint(segment(`    ${message.id}`, 'dim'), view.colour),
    ...renderForeign(message.message.split('\n'), view.width),
  ]
}

/** `place` is the number that `accept` takes. */
export function renderMessage(message: MessageRecord, place: number, view: MailView): string[] {
  const number = `${String(place).padStart(2)}  `
  const from = segment(nameSession(message.from, view), 'cyan')
  const head = [segment(number, 'bold'), from, ...describeReply(message)]
  return renderWhole(message, head, view)
}

export type Box = { session: string; messages: readonly MessageRecord[]; total: number }

/** One inbox after the other, each with the command that takes from it. */
export function renderInbox(boxes: readonly Box[], view: MailView): string[] {
  const full = boxes.filter(({ messages }) => messages.length > 0)
  if (full.length === 0) return ['No messages wait.']
  return full.flatMap(({ session, messages, total }, index) => {
    const isUser = session === userSession
    const help = `    tieline accept ${isUser ? 'me' : session}   takes the oldest; a number or an id takes that one`
    return [
      ...(index === 0 ? [] : ['']),
      joinSegments(view, [
        segment(isUser ? 'For you' : `For ${nameSession(session, view)}`, 'bold'),
        segment(`: ${total === 1 ? 'one message waits' : `${total} messages wait`}`),
      ]),
      ...messages.flatMap((message, at) => renderMessage(message, at + 1, view)),
      ...(total > messages.length ? [`    and ${total - messages.length} more`] : []),
      // A command is typed as it stands, so it is never cut.
      paint(segment(help, 'dim'), view.colour),
    ]
  })
}

const describeWay = ({ from, to }: MessageRecord, nobody: string, view: MailView): Segment =>
  segment(`${nameSession(from, view)} to ${to === null ? nobody : nameSession(to, view)}`, 'cyan')

export const renderDrafts = (messages: readonly MessageRecord[], view: MailView): string[] =>
  messages.length === 0
    ? ['No drafts.']
    : messages.flatMap((message) => {
        const head = [describeWay(message, 'a new session', view), ...describeReply(message)]
        return renderWhole(message, head, view)
      })

/** What a person can do with drafts, with the id of the newest. */
export const renderDraftHelp = (messages: readonly MessageRecord[], view: MailView): string[] =>
  messages.slice(0, 1).map(({ id }) => {
    const others = '--revise ID --text "…" changes it, --decline ID throws it away'
    return paint(
      segment(`    tieline inbox --release ${id}   sends it as it is; ${others}`, 'dim'),
      view.colour,
    )
  })

/** Below the inboxes: how many drafts a person could release. */
export function renderDraftCount(count: number, isAll: boolean): string[] {
  const drafts = count === 1 ? 'One draft waits' : `${count}${isAll ? '' : ' or more'} drafts wait`
  return count === 0 ? [] : [`${drafts} to be released: tieline inbox --drafts`]
}

/** Threads and dead letters, with what became of each message. */
export const renderLetters = (messages: readonly MessageRecord[], none: string, view: MailView): string[] =>
  messages.length === 0
    ? [none]
    : messages.flatMap((message) => {
        const style = message.status === 'dead' || message.status === 'declined' ? 'red' : 'green'
        const head = [describeWay(message, 'nobody', view), segment(`  ${message.status}`, style)]
        return renderWhole(message, head, view)
      })

/** An accepted message is shown in full: it was taken to be read. */
export const renderAccepted = (message: MessageRecord, view: MailView): string[] => [
  joinSegments(view, [
    segment(isWaiting(message) ? 'Released' : 'Accepted', 'green'),
    segment(` ${message.id} from ${nameSession(message.from, view)}`),
  ]),
  ...message.message.split('\n').map((line) => `  ${oneLine(line)}`),
  ...(message.status === 'queued'
    ? [`${nameSession(message.to, view)} takes it up when it is done with what it does now.`]
    : isWaiting(message)
      ? [`${nameSession(message.to, view)} is a client: it takes it when it looks into its inbox.`]
      : []),
]
