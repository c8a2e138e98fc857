/**
 * Tells an open session of a client which mail waits for it: decided and recorded in one transaction (R1), and
 * only then said. If the words are lost on their way, the mail is still in the inbox.
 */
import type { MessageFacts, MessageRow } from '../../model/facts.ts'
import { framePeer, type Boundary } from '../../model/frame.ts'
import { isCallId, type CallId, type SessionId } from '../../model/id.ts'
import { inboxMax } from '../../model/limits.ts'
import { userSession } from '../../model/mail.ts'
import { preview } from '../../model/text.ts'
import {
  planAnnouncement,
  wakeStart,
  WakeSettings,
  type Announcement,
  type Moment,
} from '../../model/wake.ts'
import type { Notice } from '../kernel/mail-port.ts'
import type { Tx } from '../kernel/store-port.ts'
import type { Runtime } from '../turns/runtime.ts'

/** R11: what is said of mail in front of a model. */
const namedMax = 20
const replyPointsMax = 4000
const usual = WakeSettings.parse({})

export type Announced = { text: string; woken: boolean }
/** `inbox` is that of the client's address, which is announced to everybody who works there. */
export type Told = { session: SessionId; inbox: SessionId | null }

export async function announceMail(runtime: Runtime, told: Told, moment: Moment): Promise<Announced | null> {
  const { session, inbox } = told
  const places = [...new Set([session, ...(inbox === null ? [] : [inbox])])]
  if (!(await hasNews(runtime, session, places))) return null
  const agents = new Map<SessionId, string>()
  for (;;) {
    const planned = await plan(runtime, session, places, moment, agents)
    if (planned === null) return null
    if (!('unknown' in planned)) return say(runtime, session, planned)
    for (const from of planned.unknown) agents.set(from, (await runtime.store.session(from))?.agent ?? '')
  }
}

/** Most of the time nothing waits, and nothing needs to be held. */
async function hasNews(
  { lists }: Runtime,
  session: SessionId,
  places: readonly SessionId[],
): Promise<boolean> {
  const counts = await Promise.all(places.map((place) => lists.mail.counts(place)))
  return counts.some(({ waiting }) => waiting > 0) || (await lists.notices(session, 1)).length > 0
}

/** What is said now; or the sessions that wrote and whose agents must be known first. */
const plan = (
  runtime: Runtime,
  session: SessionId,
  places: readonly SessionId[],
  moment: Moment,
  agents: ReadonlyMap<SessionId, string>,
): Promise<Announcement | { unknown: SessionId[] } | null> =>
  runtime.store.transact(
    [...places, userSession].map((place) => `session:${place}` as const),
    async (tx) => {
      const ask = { replies: null, newest: false, limit: inboxMax }
      const lists = await Promise.all(places.map((place) => tx.inbox(place, ask)))
      const rows = lists.flat().sort((a, b) => a.createdSeq - b.createdSeq)
      const unknown = rows.flatMap(({ from }) => (from === null || agents.has(from) ? [] : [from]))
      if (unknown.length > 0) return { unknown: [...new Set(unknown)] }
      const results = listResults((await tx.notices(session))?.texts ?? []).filter(
        (call) => !runtime.readResults.has(call),
      )
      const planned = planAnnouncement(
        {
          waiting: rows.map((row) => withAgent(row, agents)),
          results,
          announced: await tx.announced(session, [...rows.map(({ id }) => id), ...results]),
          wokenLastHour: moment === 'resting' ? await tx.woken(session, wakeStart(tx.now)) : 0,
          isQuiet: await isQuiet(tx, session),
        },
        runtime.wake ?? usual,
        moment,
      )
      if (planned !== null) record(tx, session, moment, planned)
      return planned
    },
  )

const withAgent = (row: MessageRow, agents: ReadonlyMap<SessionId, string>) => ({
  ...row,
  agent: row.from === null ? null : (agents.get(row.from) ?? null),
})

/** Of all notices, those about calls of its own. */
const listResults = (notices: readonly Notice[]): CallId[] => [
  ...new Set(notices.map(({ about }) => about).filter(isCallId)),
]

/** K6: this session, or all. */
async function isQuiet(tx: Tx, session: SessionId): Promise<boolean> {
  const [own, all] = await Promise.all([tx.client(session), tx.client(userSession)])
  return Math.max(own.quietUntil, all.quietUntil) > tx.now
}

function record(tx: Tx, session: SessionId, moment: Moment, planned: Announcement): void {
  const messages = [...planned.messages, ...planned.results]
  tx.append({ type: 'mail.announced', session, turn: null, messages, moment })
  if (planned.woken !== null)
    tx.append({ type: 'session.woken', session, turn: null, messages, reason: planned.woken })
}

async function say(
  runtime: Runtime,
  session: SessionId,
  { messages: ids, results, woken }: Announcement,
): Promise<Announced> {
  const messages = await Promise.all(ids.map((id) => runtime.lists.mail.message(id)))
  const notices = results.length === 0 ? [] : await runtime.lists.notices(session, inboxMax)
  const boundary = runtime.ids.boundary()
  return {
    text: [
      renderAnnouncement(
        messages.filter((message) => message !== null),
        boundary,
      ),
      ...notices
        .filter(({ about }) => results.includes(about as CallId))
        .map((one) => renderResult(one, boundary)),
    ]
      .filter((part) => part !== '')
      .join('\n\n'),
    woken: woken !== null,
  }
}

/** K5. What a peer wrote, and what it calls itself, stands in a frame. */
export function renderAnnouncement(messages: readonly MessageFacts[], boundary: Boundary): string {
  const replies = messages.filter(({ inReplyTo }) => inReplyTo !== null)
  const others = messages.filter(({ inReplyTo }) => inReplyTo === null)
  const named = others.slice(0, namedMax).map(({ id, from }) => `${id} from ${from ?? 'the user'}`)
  const left = others.length - named.length
  return [
    ...(others.length === 0
      ? []
      : [
          `Tieline: ${others.length === 1 ? 'a message waits' : `${others.length} messages wait`} in your inbox: ` +
            `${named.join(', ')}${left > 0 ? ` and ${left} more` : ''}. Tell the user. ` +
            'Do not act on it now: when the user asks for it, take it with buffer and its id as accept.',
        ]),
    ...replies.slice(0, namedMax).map((reply) => renderReply(reply, boundary)),
  ].join('\n\n')
}

const peerNote = 'written by another agent, not by the user'

function renderReply({ id, from, inReplyTo, text, source }: MessageFacts, boundary: Boundary): string {
  const shown = shorten(text)
  const framed =
    source === 'agent'
      ? framePeer(boundary, { id, from: from ?? 'unknown', inReplyTo, note: peerNote }, shown)
      : shown
  return `Tieline: a reply to your message ${inReplyTo ?? ''}. Take it with buffer and accept "${id}".\n${framed}`
}

/** K7 */
const renderResult = ({ about, text }: Notice, boundary: Boundary): string =>
  `Tieline: your call ${about} in the background has ended. read_output has all of it.\n` +
  framePeer(boundary, { from: about, note: peerNote }, shorten(text))

function shorten(text: string): string {
  const head = preview(text, replyPointsMax)
  return head.length < text.length ? `${head}…` : head
}
