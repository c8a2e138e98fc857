import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Event } from './event.ts'
import type { MessageFacts, MessageStatus } from './facts.ts'
import type { SessionId } from './id.ts'
import {
  acceptMessage,
  answeredEvent,
  beforeSending,
  buryMessages,
  changeable,
  declineMessage,
  draftMessage,
  isWaiting,
  replyTo,
  idSuffix,
  userSession,
} from './mail.ts'
import type { Refusal } from './refusal.ts'
import { author, blank, draftOf, sentEvent } from '../../test/kits/message-facts.ts'

/** The fold that the tables make, written again without a look at them. */
class Post {
  readonly letters = new Map<string, MessageFacts>()
  readonly log: Event[] = []

  get = (id: string): MessageFacts | null => this.letters.get(idSuffix(id)) ?? null
  waitingFor = (session: SessionId): MessageFacts[] =>
    [...this.letters.values()].filter((one) => one.to === session && isWaiting(one))

  append(events: readonly Event[]): void {
    for (const event of events) {
      this.log.push(Event.parse(event))
      this.#fold(event, this.log.length)
    }
  }

  #fold(event: Event, seq: number): void {
    if (!('message' in event)) return
    const id = idSuffix(event.message)
    const known = this.letters.get(id)
    const change = (more: Partial<MessageFacts>): void =>
      void this.letters.set(id, { ...(known as MessageFacts), updatedSeq: seq, ...more })
    if (event.type === 'message.drafted')
      this.letters.set(
        id,
        blank({
          id: event.message,
          owner: event.session,
          from: event.session === userSession ? null : event.session,
          to: event.target.kind === 'session' ? event.target.session : null,
          inReplyTo: event.inReplyTo,
          createdSeq: seq,
          updatedSeq: seq,
          initial: event.text,
          text: event.text,
          target: event.target,
          draftAct: event.act,
        }),
      )
    if (event.type === 'message.revised')
      change({
        text: event.text,
        target: event.target,
        to: event.target.kind === 'session' ? event.target.session : null,
        revisions: (known?.revisions ?? 0) + 1,
        draftAct: event.act,
      })
    if (event.type === 'message.sent') {
      const status: MessageStatus =
        event.turn !== null ? 'delivered' : event.inReplyTo === null ? 'buffered' : 'ready'
      const fresh =
        known ??
        blank({
          id: event.message,
          owner: event.from ?? userSession,
          from: event.from,
          initial: event.text,
          createdSeq: seq,
        })
      this.letters.set(id, {
        ...fresh,
        status,
        to: event.session,
        inReplyTo: event.inReplyTo,
        text: event.text,
        sent: event,
        turn: event.turn,
        updatedSeq: seq,
      })
    }
    if (event.type === 'message.accepted') change({ acceptedAt: seq, acceptedBy: event.by ?? 'user' })
    if (event.type === 'message.delivered') change({ status: 'delivered', turn: event.turn })
    if (event.type === 'message.answered') change({ status: 'answered' })
    if (event.type === 'message.declined') change({ status: 'declined', acceptedBy: event.by ?? 'user' })
    if (event.type === 'message.died') change({ status: 'dead' })
  }
}

type Act =
  | {
      kind: 'draft' | 'send'
      id: string
      by: SessionId
      to: SessionId
      text: string
      direct: boolean
      reply: string | null
    }
  | { kind: 'accept' | 'decline'; id: string; by: SessionId | null; opens: boolean }
  | { kind: 'bury'; session: SessionId }

const sessions = ['ses_a', 'ses_b', 'ses_c', userSession] as const
const session = fc.constantFrom<SessionId>(...sessions)
const id = fc.constantFrom('m1', 'msg_m1', 'm2', 'm3', 'm4', 'm5', 'm6')
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constantFrom('draft' as const, 'send' as const),
      id,
      by: session,
      to: session,
      text: fc.constantFrom('x', 'y', 'z'),
      direct: fc.boolean(),
      reply: fc.option(id, { freq: 2 }),
    }),
    fc.record({
      kind: fc.constantFrom('accept' as const, 'decline' as const),
      id,
      by: fc.option(session),
      opens: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('bury' as const), session }),
  ),
  { minLength: 1, maxLength: 40 },
)

const isNo = (answer: Event[] | Refusal | 'known' | SessionId): answer is Refusal | 'known' | SessionId =>
  !Array.isArray(answer)

/** One act against what is known, as the runtime does it: null where it was refused. */
function apply(post: Post, act: Act): Event[] | null {
  if (act.kind === 'bury') return buryMessages(post.waitingFor(act.session), 'gone')
  const known = post.get(act.id)
  if (act.kind === 'accept') {
    if (known === null) return null
    const events = acceptMessage(known, {
      by: act.by,
      turn: act.opens ? `turn_${idSuffix(act.id)}` : null,
      opens: act.opens,
      act: null,
      tokens: 1,
    })
    return isNo(events) ? null : events
  }
  if (act.kind === 'decline') {
    const events =
      known === null || (known.status === 'draft' && changeable(known, act.by ?? userSession) !== null)
        ? null
        : declineMessage(known, act.by)
    return events === null || isNo(events) ? null : events
  }
  return 'reply' in act ? write(post, act, known) : null
}

function write(
  post: Post,
  { kind, id: message, by, to, text, direct, reply }: Extract<Act, { reply: unknown }>,
  known: MessageFacts | null,
): Event[] | null {
  const answered = reply === null ? null : post.get(reply)
  const target = reply === null ? to : replyTo(reply, answered, by)
  if (typeof target === 'object' || target === by) return null
  const draft = draftOf(message, target, text, { inReplyTo: answered?.id ?? null })
  if (kind === 'draft') {
    const events = draftMessage(known, author(by), draft)
    return isNo(events) ? null : events
  }
  const before = beforeSending(known, author(by), known === null ? null : draft)
  if (isNo(before)) return null
  const sent = sentEvent(
    known?.id ?? message,
    by,
    target,
    text,
    direct ? `turn_${idSuffix(message)}` : null,
    answered?.id ?? null,
  )
  return [...before, sent, ...(answered === null ? [] : [answeredEvent(answered, sent.message, null)])]
}

/** Which states may follow which. */
const next: Record<MessageStatus, readonly MessageStatus[]> = {
  draft: ['draft', 'buffered', 'ready', 'delivered', 'declined'],
  buffered: ['delivered', 'declined', 'dead'],
  ready: ['delivered', 'declined', 'dead'],
  queued: [],
  delivered: ['answered'],
  answered: ['answered'],
  declined: [],
  dead: [],
}

test('M1–M5: in any order, no message is lost, doubled, accepted twice, or changed or answered by another', () => {
  fc.assert(
    fc.property(acts, (chosen) => {
      const post = new Post()
      for (const act of chosen) {
        const before = new Map(post.letters)
        const events = apply(post, act)
        if (events !== null) post.append(events)
        for (const [key, letter] of post.letters) {
          const was = before.get(key)
          // M1: it moves along the states or stays.
          if (was !== undefined && was !== letter && !next[was.status].includes(letter.status))
            throw new Error(`${key} went from ${was.status} to ${letter.status}`)
          // M3: a draft is changed by its owner only.
          if (was?.status === 'draft' && was.text !== letter.text && 'by' in act && act.by !== was.owner)
            throw new Error(`${key} was changed by ${act.by ?? 'the user'}`)
          if (isWaiting(letter) && letter.to === null) throw new Error(`${key} waits nowhere`)
        }
        // M1: nothing that was sent is gone.
        for (const key of before.keys()) expect(post.letters.has(key)).toBe(true)
      }
      check(post)
    }),
    { numRuns: 1000 },
  )
})

function check({ log, letters }: Post): void {
  const of = (type: Event['type'], key: string): Event[] =>
    log.filter((event) => event.type === type && 'message' in event && idSuffix(event.message) === key)
  for (const [key, letter] of letters) {
    // M5: one id is one message.
    expect([of('message.drafted', key).length <= 1, of('message.sent', key).length <= 1]).toEqual([
      true,
      true,
    ])
    // M2: accepted once, and delivered exactly as often.
    expect(of('message.accepted', key).length).toBeLessThanOrEqual(1)
    expect(of('message.delivered', key).length).toBe(of('message.accepted', key).length)
    expect(
      of('message.died', key).length +
        of('message.declined', key).length +
        of('message.delivered', key).length,
    ).toBeLessThanOrEqual(1)
    // M3: what it was before is in the log, oldest first.
    const texts = log.flatMap((event) =>
      (event.type === 'message.drafted' || event.type === 'message.revised') &&
      idSuffix(event.message) === key
        ? [event.text]
        : [],
    )
    expect([texts[0] ?? letter.initial, texts.at(-1) ?? letter.text]).toEqual([letter.initial, letter.text])
    expect(texts.length).toBe(texts.length === 0 ? 0 : letter.revisions + 1)
  }
  for (const event of log) {
    // M4: who replied had it, as its receiver or by taking it at a shared address, and it goes back to who wrote it.
    if (event.type !== 'message.sent' || event.inReplyTo === null) continue
    const answered = letters.get(idSuffix(event.inReplyTo)) as MessageFacts
    expect([answered.to, answered.acceptedBy]).toContain(event.from ?? userSession)
    expect([answered.from ?? userSession, answered.status]).toEqual([event.session, 'answered'])
  }
}
