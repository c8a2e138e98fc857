/** O7: what clients do with mail, and what they may be told of it. */
import type { Event, EventOf } from '../../src/model/event.ts'
import type { SessionId } from '../../src/model/id.ts'
import type { Limits } from '../../src/model/limits.ts'
import { getMainSession, nameAgent } from '../agents.ts'
import type { Broken, Ledger } from '../ledger.ts'
import { mailId } from '../mail-work.ts'
import type { MailAct } from '../plan.ts'
import type { Facts } from './facts.ts'
import { isDeclined } from './judge-desk.ts'

type AcceptAct = Extract<MailAct, { do: 'accept' }>
type SendAct = Extract<MailAct, { do: 'send' }>

export class MailAsks {
  readonly #ledger: Ledger
  readonly #facts: Facts
  readonly #limits: Limits
  readonly #accepts = new Map<string, AcceptAct>()
  /** Acts that have accepted something: asked again, they are told the same. */
  readonly #taken = new Map<string, string>()

  constructor(ledger: Ledger, facts: Facts, limits: Limits) {
    this.#ledger = ledger
    this.#facts = facts
    this.#limits = limits
  }

  #listWaiting = (session: SessionId): string[] =>
    this.#ledger.mail.waiting.filter(({ to }) => to === session).map(({ id }) => id)

  /** An accept takes what its act named, or the first or the last of what waits. */
  checkBefore(event: Event): Broken {
    if (event.type !== 'message.accepted' || event.act === null) return null
    this.#taken.set(event.act, event.message)
    const act = this.#accepts.get(event.act)
    return act === undefined ? this.#checkOldest(event) : this.#checkChosen(event, act)
  }

  /** Agents and people at the desk take the oldest, unless they name one. */
  #checkOldest({ session, message, by }: EventOf<'message.accepted'>): Broken {
    if (by === null) return null
    const first = this.#listWaiting(session)[0]
    return first === message ? null : `O7: ${session} takes ${message}, and ${first ?? 'nothing'} came first`
  }

  #checkChosen({ message, session }: EventOf<'message.accepted'>, act: AcceptAct): Broken {
    const waiting = this.#listWaiting(session)
    const chosen = act.id !== undefined ? mailId(act.id) : act.newest === true ? waiting.at(-1) : waiting[0]
    return chosen === message
      ? null
      : `O7: ${message} is taken from ${session}, where ${chosen ?? 'nothing'} was asked for`
  }

  beginAccept(name: string, act: AcceptAct): () => Iterable<string> {
    this.#accepts.set(name, act)
    const session = getMainSession(nameAgent(act.of))
    return () => {
      if (this.#taken.has(name)) return ['taken']
      const waiting = this.#listWaiting(session)
      const wanted = act.id === undefined ? waiting.length > 0 : waiting.includes(mailId(act.id))
      if (!wanted) return ['none']
      const hasRoom =
        !this.#facts.deleted.has(session) &&
        this.#ledger.countQueued(session) < this.#limits.queuedPerSessionMax
      return hasRoom ? ['taken'] : ['none']
    }
  }

  /** One id is one message: tried again, it is what it was. */
  beginSend(act: SendAct): () => Iterable<string> {
    const session = getMainSession(nameAgent(act.to))
    const id = mailId(act.id)
    return () => {
      const letter = this.#ledger.mail.get(id)
      const state = { ledger: this.#ledger, facts: this.#facts }
      if (act.draft === true && isDeclined(state, id)) return ['declined']
      if (letter !== undefined) return [act.draft === true ? 'released' : 'sent']
      if (this.#facts.deleted.has(session)) return ['session_unknown']
      return act.draft === true ? ['released'] : ['sent']
    }
  }
}
