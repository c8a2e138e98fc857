/**
 * Tells an open session of a client which mail waits for it: decided and recorded in one transaction (R1), and
 * only then said. If the words are lost on their way, the mail is still in the inbox.
 */
import type { MessageFacts } from '../../model/facts.ts'
import { framePeer, type Boundary } from '../../model/frame.ts'
import type { SessionId } from '../../model/id.ts'
import { inboxMax } from '../../model/limits.ts'
import { preview } from '../../model/text.ts'
import {
  planAnnouncement,
  wakeStart,
  WakeSettings,
  type Announcement,
  type Moment,
} from '../../model/wake.ts'
import type { Runtime } from '../turns/runtime.ts'

/** R11: what is said of mail in front of a model. */
const namedMax = 20
const replyPointsMax = 4000
const usual = WakeSettings.parse({})

export type Announced = { text: string; woken: boolean }

/** `inbox` is that of the client's address, which is announced to everybody who works there. */
export async function announceMail(
  runtime: Runtime,
  { session, inbox }: { session: SessionId; inbox: SessionId | null },
  moment: Moment,
): Promise<Announced | null> {
  const places = [...new Set([session, ...(inbox === null ? [] : [inbox])])]
  // Most of the time nothing waits, and nothing needs to be held.
  const counts = await Promise.all(places.map((place) => runtime.lists.mail.counts(place)))
  if (counts.every(({ waiting }) => waiting === 0)) return null
  const planned = await runtime.store.transact(
    places.map((place) => `session:${place}` as const),
    async (tx): Promise<Announcement | null> => {
      const ask = { replies: null, newest: false, limit: inboxMax }
      const lists = await Promise.all(places.map((place) => tx.inbox(place, ask)))
      const waiting = lists.flat().sort((a, b) => a.createdSeq - b.createdSeq)
      const plan = planAnnouncement(
        {
          waiting,
          announced: await tx.announced(
            session,
            waiting.map(({ id }) => id),
          ),
          wokenLastHour: moment === 'resting' ? await tx.woken(session, wakeStart(tx.now)) : 0,
        },
        runtime.wake ?? usual,
        moment,
      )
      if (plan === null) return null
      tx.append({ type: 'mail.announced', session, turn: null, messages: plan.messages, moment })
      if (plan.woken !== null)
        tx.append({
          type: 'session.woken',
          session,
          turn: null,
          messages: plan.messages,
          reason: plan.woken,
        })
      return plan
    },
  )
  if (planned === null) return null
  const messages = await Promise.all(planned.messages.map((id) => runtime.lists.mail.message(id)))
  return {
    text: renderAnnouncement(
      messages.filter((message) => message !== null),
      runtime.ids.boundary(),
    ),
    woken: planned.woken !== null,
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
    ...replies.slice(0, namedMax).map(({ id, from, inReplyTo, text, source }) => {
      const head = preview(text, replyPointsMax)
      const shown = head.length < text.length ? `${head}…` : head
      const note = 'written by another agent, not by the user'
      const framed =
        source === 'agent'
          ? framePeer(boundary, { id, from: from ?? 'unknown', inReplyTo, note }, shown)
          : shown
      return `Tieline: a reply to your message ${inReplyTo ?? ''}. Take it with buffer and accept "${id}".\n${framed}`
    }),
  ].join('\n\n')
}
