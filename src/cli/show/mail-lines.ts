import type { MessageRecord } from '../../wire/mail.ts'
import { timeWords } from './amounts.ts'
import { joinSegments, segment, type Segment } from './segment.ts'
import { firstLine, oneLine } from './width.ts'

export type MailView = {
  width: number
  colour: boolean
  now: number
  /** What people call the agent of a session. */
  nameOf: (session: string) => string | null
}

/** Nanoseconds as a decimal text. */
export const readMillis = (nanos: string): number => Number(BigInt(nanos) / 1_000_000n)

const userName = 'the user'

const whoIs = (session: string | null, { nameOf }: MailView): string => {
  if (session === null || session === 'ses_user') return userName
  const name = nameOf(session)
  return name === null || name === session ? session : `${oneLine(name)} (${session})`
}

const agoOf = (message: MessageRecord, { now }: MailView): string =>
  `${timeWords(Math.max(0, now - readMillis(message.updated_at)))} ago`

const answering = (message: MessageRecord): Segment[] =>
  message['in-reply-to'] === null ? [] : [segment(`, answers ${message['in-reply-to']}`, 'dim')]

/** One message on two lines: who, when and its id; then how it begins. `place` is what `accept` takes. */
export function messageLines(message: MessageRecord, place: number | null, view: MailView): string[] {
  const number = place === null ? '' : `${String(place).padStart(2)}  `
  const head: Segment[] = [
    segment(number, 'bold'),
    segment(whoIs(message.from, view), 'cyan'),
    ...answering(message),
    segment(`  ${message.id}`, 'dim'),
  ]
  const indent = ' '.repeat(number.length)
  return [
    joinSegments(head, [segment(agoOf(message, view), 'dim')], view.width, view.colour),
    joinSegments([segment(`${indent}${firstLine(message.message)}`)], [], view.width, view.colour),
  ]
}

export type Box = { session: string; messages: readonly MessageRecord[]; total: number }

/** Inboxes one after the other, each with how to take from it. */
export function inboxLines(boxes: readonly Box[], view: MailView): string[] {
  const full = boxes.filter(({ messages }) => messages.length > 0)
  if (full.length === 0) return ['No messages wait.']
  return full.flatMap(({ session, messages, total }, index) => [
    ...(index === 0 ? [] : ['']),
    joinSegments(
      [
        segment(session === 'ses_user' ? 'For you' : `For ${whoIs(session, view)}`, 'bold'),
        segment(`: ${total === 1 ? 'one message waits' : `${total} messages wait`}`),
      ],
      [],
      view.width,
      view.colour,
    ),
    ...messages.flatMap((message, at) => messageLines(message, at + 1, view)),
    ...(total > messages.length ? [`    and ${total - messages.length} more`] : []),
    joinSegments(
      [
        segment(
          `    tieline accept ${session === 'ses_user' ? 'me' : session}   takes the oldest; a number or an id takes that one`,
          'dim',
        ),
      ],
      [],
      view.width,
      view.colour,
    ),
  ])
}

export const draftLines = (messages: readonly MessageRecord[], view: MailView): string[] =>
  messages.length === 0
    ? ['No drafts.']
    : messages.flatMap((message) => [
        joinSegments(
          [
            segment(
              `${whoIs(message.from, view)} to ${message.to === null ? 'a new session' : whoIs(message.to, view)}`,
              'cyan',
            ),
            ...answering(message),
            segment(`  ${message.id}`, 'dim'),
          ],
          [segment(agoOf(message, view), 'dim')],
          view.width,
          view.colour,
        ),
        joinSegments([segment(`  ${firstLine(message.message)}`)], [], view.width, view.colour),
      ])

/** What a person can do about drafts, with the id of the newest. */
export const draftHelp = (messages: readonly MessageRecord[], { width, colour }: MailView): string[] =>
  messages
    .slice(0, 1)
    .map(({ id }) =>
      joinSegments(
        [
          segment(
            `    tieline inbox --release ${id}   sends it as it is; --revise ID --text "…" changes it, --decline ID throws it away`,
            'dim',
          ),
        ],
        [],
        width,
        colour,
      ),
    )

/** Under the inboxes: what waits for a person to release it. */
export const draftCount = (count: number, isAll: boolean): string[] =>
  count === 0
    ? []
    : [
        `${count === 1 ? 'One draft waits' : `${count}${isAll ? '' : ' or more'} drafts wait`} to be released: tieline inbox --drafts`,
      ]

/** What became of each, for threads and dead letters. */
export const letterLines = (messages: readonly MessageRecord[], none: string, view: MailView): string[] =>
  messages.length === 0
    ? [none]
    : messages.flatMap((message) => [
        joinSegments(
          [
            segment(
              `${whoIs(message.from, view)} to ${message.to === null ? 'nobody' : whoIs(message.to, view)}`,
              'cyan',
            ),
            segment(
              `  ${message.status}`,
              message.status === 'dead' || message.status === 'declined' ? 'red' : 'green',
            ),
            segment(`  ${message.id}`, 'dim'),
          ],
          [segment(agoOf(message, view), 'dim')],
          view.width,
          view.colour,
        ),
        joinSegments([segment(`  ${firstLine(message.message)}`)], [], view.width, view.colour),
      ])

/** What was accepted is shown whole: it was taken to be read. */
export const acceptedLines = (message: MessageRecord, view: MailView): string[] => [
  joinSegments(
    [segment('Accepted', 'green'), segment(` ${message.id} from ${whoIs(message.from, view)}`)],
    [],
    view.width,
    view.colour,
  ),
  ...message.message.split('\n').map((line) => `  ${oneLine(line)}`),
  ...(message.status === 'queued'
    ? [`${whoIs(message.to, view)} takes it up when it is done with what it does now.`]
    : []),
]
