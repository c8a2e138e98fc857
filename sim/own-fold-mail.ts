/** Messages, each as what happened to it last, and the inboxes; see own-fold.ts. */
import type { Event, EventOf } from '../src/model/event.ts'
import type { Place, Row } from './own-fold.ts'

type History = {
  id: string
  name: string
  /** Whose draft it was, or who sent it. */
  owner: string
  sender: string | null
  created: { at: number; seq: number }
  updated: { at: number; seq: number }
  text: number
  receiver: string | null
  inReplyTo: string | null
  draftAct: string | null
  revisions: number
  sent: { event: EventOf<'message.sent'> | null; at: number; seq: number; turn: string | null } | null
  toEphemeral: boolean
  /** A person let a client have it. */
  released: EventOf<'message.released'> | null
  accepted: { event: EventOf<'message.accepted'>; place: Place } | null
  delivered: EventOf<'message.delivered'> | null
  end: EventOf<'message.declined' | 'message.died'> | null
  answered: boolean
}

type Others = {
  turn: (id: string) => { session: string; opened: Place } | undefined
  isEphemeral: (session: string) => boolean
}

const user = 'ses_user'
const strip = (id: string): string => id.replace(/^msg_/, '')
const stripOrNull = (id: string | null): string | null => (id === null ? null : strip(id))

export class OwnMail {
  readonly #mail = new Map<string, History>()
  /** Sessions for which something has ever waited. */
  readonly #receivers = new Set<string>()

  take(event: Event, place: Place, others: Others): void {
    if (!event.type.startsWith('message.') || !('message' in event)) return
    const id = strip(event.message)
    if (event.type === 'message.drafted')
      this.#mail.set(id, {
        ...begin(id, event.message, event.session, event.session === user ? null : event.session, place),
        receiver: event.target.kind === 'session' ? event.target.session : null,
        inReplyTo: stripOrNull(event.inReplyTo),
        draftAct: event.act,
      })
    if (event.type === 'message.sent') this.#send(id, event, place, others)
    if (event.type === 'message.answered' && !this.#mail.has(id)) this.#learn(id, event.message, others)
    const known = this.#mail.get(id)
    if (known === undefined) return
    known.updated = place
    if (event.type === 'message.revised') {
      known.receiver = event.target.kind === 'session' ? event.target.session : null
      known.inReplyTo = stripOrNull(event.inReplyTo)
      known.draftAct = event.act
      known.text = place.seq
      known.revisions += 1
    }
    if (event.type === 'message.released') known.released = event
    if (event.type === 'message.accepted') known.accepted = { event, place }
    if (event.type === 'message.delivered') known.delivered = event
    if (event.type === 'message.answered') known.answered = true
    if (event.type === 'message.declined' || event.type === 'message.died') known.end = event
  }

  /** A user's own words that begin a turn at once are only that turn, unless they were drafted or answer. */
  #send(id: string, event: EventOf<'message.sent'>, place: Place, { isEphemeral }: Others): void {
    const known = this.#mail.get(id)
    const waits = event.turn === null
    if (waits) this.#receivers.add(event.session)
    if (known === undefined && !waits && event.from === null && event.inReplyTo === null) return
    this.#mail.set(id, {
      ...(known ?? begin(id, event.message, event.from ?? user, event.from, place)),
      text: place.seq,
      receiver: event.session,
      inReplyTo: stripOrNull(event.inReplyTo),
      sent: { event, at: place.at, seq: place.seq, turn: event.turn },
      toEphemeral: isEphemeral(event.session),
    })
  }

  /** What a user said to a session becomes a message when it is answered: it was sent when its turn opened. */
  #learn(id: string, name: string, { turn }: Others): void {
    const opened = turn(`turn_${id}`)
    if (opened === undefined) return
    const place = opened.opened
    this.#mail.set(id, {
      ...begin(id, name, user, null, place),
      receiver: opened.session,
      sent: { event: null, at: place.at, seq: place.seq, turn: `turn_${id}` },
    })
  }

  renderMessages(): Map<string, Row> {
    return new Map(Array.from(this.#mail.values(), (history) => [history.id, renderMessage(history)]))
  }

  renderInboxes(): Map<string, Row> {
    const counts = new Map(Array.from(this.#receivers, (session) => [session, 0]))
    for (const history of this.#mail.values())
      if (isWaiting(history) && history.receiver !== null)
        counts.set(history.receiver, (counts.get(history.receiver) ?? 0) + 1)
    return new Map(Array.from(counts, ([session, waiting]) => [session, { session, waiting }]))
  }
}

const begin = (id: string, name: string, owner: string, sender: string | null, place: Place): History => ({
  id,
  name,
  owner,
  sender,
  created: place,
  updated: place,
  text: place.seq,
  receiver: null,
  inReplyTo: null,
  draftAct: null,
  revisions: 0,
  sent: null,
  toEphemeral: false,
  released: null,
  accepted: null,
  delivered: null,
  end: null,
  answered: false,
})

/** Sent without a turn of its own, and neither delivered nor ended. */
const isWaiting = ({ sent, delivered, end }: History): boolean =>
  sent !== null && sent.turn === null && delivered === null && end === null

function nameState({ sent, inReplyTo, released, delivered, end }: History): string {
  if (end !== null) return end.type === 'message.declined' ? 'declined' : 'dead'
  if (delivered !== null) return delivered.opens ? 'opened' : 'handed'
  if (sent === null) return 'draft'
  return sent.turn !== null ? 'opened' : inReplyTo === null && released === null ? 'buffered' : 'ready'
}

function nameAccepter({ accepted, end }: History): string | null {
  if (end?.type === 'message.died') return null
  if (end !== null) return end.by ?? 'user'
  return accepted === null ? null : (accepted.event.by ?? 'user')
}

const renderMessage = (history: History): Row => ({
  id: history.id,
  name: history.name,
  state: nameState(history),
  waiting: isWaiting(history) ? 1 : 0,
  fleeting: isWaiting(history) && history.toEphemeral ? 1 : 0,
  owner: history.owner,
  sender: history.sender,
  receiver: history.receiver,
  in_reply_to: history.inReplyTo,
  // Only what turns send is counted for their flow.
  flow: history.sent?.event?.senderTurn == null ? null : history.sent.event.flow,
  created_at: history.created.at,
  created_seq: history.created.seq,
  updated_at: history.updated.at,
  updated_seq: history.updated.seq,
  text_seq: history.text,
  sent_at: history.sent?.at ?? null,
  sent_seq: history.sent?.seq ?? null,
  accepted_at: history.accepted?.place.at ?? null,
  accepted_seq: history.accepted?.place.seq ?? null,
  accepted_by: nameAccepter(history),
  accept_act: (history.accepted?.event ?? history.released)?.act ?? null,
  draft_act: history.draftAct,
  turn: history.delivered === null ? (history.sent?.turn ?? null) : history.delivered.turn,
  answered: history.answered ? 1 : 0,
  revisions: history.revisions,
})
