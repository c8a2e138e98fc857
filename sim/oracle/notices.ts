/** O6: who has to hear of something hears it once: a notice for each cause, and each in one turn only. */
import type { Event, EventOf } from '../../src/model/event.ts'
import type { SessionId } from '../../src/model/id.ts'
import { getOrMake } from '../get-or-make.ts'
import type { Broken, Ledger } from '../ledger.ts'
import type { Facts } from './facts.ts'

type Notice = { about: string; text: string }
const shownMax = 10
const charactersMax = 2000

export class Notices {
  readonly #waiting = new Map<SessionId, Notice[]>()
  /** Of the transaction that is read. */
  #expected: { about: string; to: readonly SessionId[]; may: boolean }[] = []

  /** Before the event is in the ledger. */
  apply(ledger: Ledger, facts: Facts, event: Event): Broken {
    if (event.type === 'turn.ended') this.#expectOfTurn(ledger, facts, event)
    if (event.type === 'message.declined' || event.type === 'message.died') {
      const letter = ledger.mail.get(event.message)
      if (letter?.from != null) this.#expect(event.message, [letter.from])
    }
    if (event.type === 'notice.raised') return this.#raise(event)
    if (event.type === 'call.opened') return this.#give(event.target, event.notices?.texts ?? [])
    if (event.type === 'message.sent' || (event.type === 'message.delivered' && event.opens))
      return event.turn === null ? null : this.#give(event.session, event.notices?.texts ?? [])
    return null
  }

  #expect = (about: string, to: readonly SessionId[], may = false): void =>
    void this.#expected.push({ about, to, may })

  /** A session that fails reports to the one above it; an answer that comes too late goes up the path. */
  #expectOfTurn(ledger: Ledger, facts: Facts, { turn: id, session, outcome }: EventOf<'turn.ended'>): void {
    const turn = ledger.turn(id)
    if (ledger.sessions.get(session)?.kind !== 'persistent') return
    const parent = facts.parents.get(session) ?? null
    if (turn.call === null) {
      // One that never began was given up by its sender, who knows.
      if (parent !== null && outcome !== 'completed' && outcome !== 'cancelled')
        this.#expect(session, [parent], turn.epoch === 0)
      return
    }
    if (!turn.pending && turn.outcome === 'timed_out' && outcome === 'completed')
      this.#expect(
        turn.call.id,
        turn.grant.path.slice(0, -1).map((hop) => hop.session),
      )
  }

  #raise({ session, about, text }: EventOf<'notice.raised'>): Broken {
    const index = this.#expected.findIndex((one) => one.about === about && one.to.includes(session))
    if (index < 0) return `O6: ${session} is told about ${about}, and nothing happened that it should hear of`
    this.#expected.splice(index, 1)
    getOrMake(this.#waiting, session, (): Notice[] => []).push({
      about,
      text: Array.from(text).slice(0, charactersMax).join(''),
    })
    return null
  }

  /** The next turn of a session is given its newest notices, in their order, and nobody else is. */
  #give(session: SessionId, texts: readonly Notice[]): Broken {
    const waiting = (this.#waiting.get(session) ?? []).slice(-shownMax)
    this.#waiting.delete(session)
    const show = (notices: readonly Notice[]): string =>
      notices.map(({ about, text }) => `${about}: ${text}`).join('\n')
    return show(waiting) === show(texts)
      ? null
      : `O6: ${session} is given the notices ${show(texts) || 'none'}, and should be given ${show(waiting) || 'none'}`
  }

  /** After a transaction: what had to be raised was. */
  checkAfter(): Broken {
    const missing = this.#expected.find(({ may }) => !may)
    this.#expected = []
    return missing === undefined
      ? null
      : `O6: nobody of ${missing.to.join(', ')} is told about ${missing.about}`
  }
}
