/**
 * The checker's own fold of mail, and its laws: a message is never lost, never accepted twice, and never given
 * to the wrong session.
 */
import type { Event, EventOf } from '../src/model/event.ts'
import type { SessionId } from '../src/model/id.ts'
import type { Broken } from './ledger.ts'

type Letter = {
  id: string
  from: SessionId | null
  to: SessionId
  text: string
  state: 'waiting' | 'accepted' | 'delivered' | 'ended'
}

const stripPrefix = (message: string): string => message.replace(/^msg_/, '')

export class MailLedger {
  readonly letters = new Map<string, Letter>()
  readonly acts = new Map<string, string>()
  readonly #drafts = new Set<string>()
  readonly #announced = new Set<string>()
  readonly #results = new Set<string>()

  get waiting(): Letter[] {
    return [...this.letters.values()].filter(({ state }) => state === 'waiting')
  }

  get = (message: string): Letter | undefined => this.letters.get(stripPrefix(message))

  checkBefore(event: Event): Broken {
    if (event.type === 'mail.announced') return this.#checkAnnounced(event)
    if (event.type === 'message.accepted') return this.#checkAccept(event)
    if (event.type === 'message.delivered') return this.#checkDelivery(event)
    const letter = 'message' in event ? this.get(event.message) : undefined
    if (event.type === 'message.sent')
      return letter === undefined ? null : `M5: ${event.message} is sent a second time`
    if (event.type === 'message.answered')
      return letter?.state === 'delivered' && letter.to === event.session
        ? null
        : `M4: ${event.session} answers ${event.message}, which it does not have`
    // A draft that is thrown away was never sent.
    if (
      event.type === 'message.declined' &&
      letter === undefined &&
      this.#drafts.has(stripPrefix(event.message))
    )
      return null
    if (event.type === 'message.released')
      return letter?.state === 'waiting' ? null : `M6: ${event.message} is released, and does not wait`
    if (event.type === 'message.declined' || event.type === 'message.died')
      return letter?.state === 'waiting' ? null : `M1: ${event.message} ends, and does not wait`
    return null
  }

  /** K1 */
  #checkAnnounced({ session, messages }: EventOf<'mail.announced'>): Broken {
    const again = messages.find((message) => this.#announced.has(`${session} ${message}`))
    if (again !== undefined) return `K1: ${again} is announced to ${session} a second time`
    // K7: the result of a call, which its caller has as a notice.
    const over = messages.find(
      (message) => !this.#results.has(`${session} ${message}`) && this.get(message)?.state !== 'waiting',
    )
    return over === undefined ? null : `K1: ${over} is announced to ${session}, and does not wait`
  }

  #checkAccept({ message, session, act }: EventOf<'message.accepted'>): Broken {
    const letter = this.get(message)
    if (letter === undefined) return `M1: ${message} is accepted and was never sent`
    if (letter.to !== session) return `M1: ${message} for ${letter.to} is accepted for ${session}`
    const before = act === null ? undefined : this.acts.get(act)
    if (before !== undefined) return `M2: the act ${act ?? ''} has accepted ${before}, and now ${message}`
    return letter.state === 'waiting' ? null : `M2: ${message} is accepted, and is ${letter.state}`
  }

  #checkDelivery({ message, session, text }: EventOf<'message.delivered'>): Broken {
    const letter = this.get(message)
    if (letter === undefined || letter.state !== 'accepted')
      return `M1: ${message} is delivered and was not accepted`
    return letter.to === session && letter.text === text
      ? null
      : `M1: ${message} for ${letter.to} is delivered to ${session}`
  }

  apply(event: Event): void {
    const letter = 'message' in event ? this.get(event.message) : undefined
    if (event.type === 'mail.announced')
      for (const message of event.messages) this.#announced.add(`${event.session} ${message}`)
    if (event.type === 'notice.raised') this.#results.add(`${event.session} ${event.about}`)
    if (event.type === 'message.drafted') this.#drafts.add(stripPrefix(event.message))
    if (event.type === 'message.sent')
      this.letters.set(stripPrefix(event.message), {
        id: event.message,
        from: event.from,
        to: event.session,
        text: event.text,
        state: event.turn === null ? 'waiting' : 'delivered',
      })
    if (letter === undefined) return
    if (event.type === 'message.accepted') {
      letter.state = 'accepted'
      if (event.act !== null) this.acts.set(event.act, event.message)
    }
    if (event.type === 'message.delivered') letter.state = 'delivered'
    if (event.type === 'message.declined' || event.type === 'message.died') letter.state = 'ended'
  }

  /** M1: after each transaction no message lies between two places. */
  checkAfter(events: readonly Event[]): Broken {
    for (const event of events) {
      if (event.type !== 'message.accepted') continue
      if (this.get(event.message)?.state === 'accepted')
        return `M1: ${event.message} was accepted, and nobody has it`
    }
    return null
  }

  /** R2, M2: an act gets the message that the log gave it, and no other act gets the same one. */
  readonly #given = new Map<string, string>()
  checkGiven(act: string, message: string): Broken {
    const by = this.#given.get(message)
    if (by !== undefined && by !== act) return `M2: ${message} was given to ${by} and to ${act}`
    this.#given.set(message, act)
    return this.acts.get(act) !== undefined && stripPrefix(this.acts.get(act) ?? '') === stripPrefix(message)
      ? null
      : `M2: ${act} was given ${message}; the log says ${this.acts.get(act) ?? 'nothing'}`
  }
}
