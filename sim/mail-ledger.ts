/**
 * Mail as the checker reads it, and its laws: a message is never lost, never accepted twice, and never in the
 * wrong hands. Written without a look at the store's own fold.
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

const keyOf = (message: string): string => message.replace(/^msg_/, '')

export class MailLedger {
  readonly letters = new Map<string, Letter>()
  readonly acts = new Map<string, string>()

  get waiting(): Letter[] {
    return [...this.letters.values()].filter(({ state }) => state === 'waiting')
  }

  get = (message: string): Letter | undefined => this.letters.get(keyOf(message))

  before(event: Event): Broken {
    if (event.type === 'message.accepted') return this.#accepts(event)
    if (event.type === 'message.delivered') return this.#delivers(event)
    const letter = 'message' in event ? this.get(event.message) : undefined
    if (event.type === 'message.sent')
      return letter === undefined ? null : `M5: ${event.message} is sent a second time`
    if (event.type === 'message.answered')
      return letter?.state === 'delivered' && letter.to === event.session
        ? null
        : `M4: ${event.session} answers ${event.message}, which it does not have`
    if (event.type === 'message.declined' || event.type === 'message.died')
      return letter?.state === 'waiting' ? null : `M1: ${event.message} ends, and does not wait`
    return null
  }

  #accepts({ message, session, act }: EventOf<'message.accepted'>): Broken {
    const letter = this.get(message)
    if (letter === undefined) return `M1: ${message} is accepted and was never sent`
    if (letter.to !== session) return `M1: ${message} for ${letter.to} is accepted for ${session}`
    const before = act === null ? undefined : this.acts.get(act)
    if (before !== undefined) return `M2: the act ${act ?? ''} has accepted ${before}, and now ${message}`
    return letter.state === 'waiting' ? null : `M2: ${message} is accepted, and is ${letter.state}`
  }

  #delivers({ message, session, text }: EventOf<'message.delivered'>): Broken {
    const letter = this.get(message)
    if (letter === undefined || letter.state !== 'accepted')
      return `M1: ${message} is delivered and was not accepted`
    return letter.to === session && letter.text === text
      ? null
      : `M1: ${message} for ${letter.to} is delivered to ${session}`
  }

  apply(event: Event): void {
    const letter = 'message' in event ? this.get(event.message) : undefined
    if (event.type === 'message.sent')
      this.letters.set(keyOf(event.message), {
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
  after(events: readonly Event[]): Broken {
    for (const event of events) {
      if (event.type !== 'message.accepted') continue
      if (this.get(event.message)?.state === 'accepted')
        return `M1: ${event.message} was accepted, and nobody has it`
    }
    return null
  }

  /** R2, M2: what somebody was told is what the log says, and nobody else was told the same. */
  readonly #told = new Map<string, string>()
  told(act: string, message: string): Broken {
    const by = this.#told.get(message)
    if (by !== undefined && by !== act) return `M2: ${message} was given to ${by} and to ${act}`
    this.#told.set(message, act)
    return this.acts.get(act) !== undefined && keyOf(this.acts.get(act) ?? '') === keyOf(message)
      ? null
      : `M2: ${act} was told that it has ${message}; the log says ${this.acts.get(act) ?? 'nothing'}`
  }
}
