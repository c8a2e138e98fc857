/**
 * What was said lately in sessions that go on, in memory: a turn that begins is shown the conversation before it, and
 * need not wait until the views have its end. It is a second fold of the same events (R10). What is here is as the
 * views have it, from the newest entry to the oldest that a turn is shown.
 */
import type { Entry } from '../model/context.ts'
import type { EventOf } from '../model/event.ts'
import { historyTokensMax } from '../model/limits.ts'
import type { EntryPage, EntrySelect } from '../runtime/kernel/store-port.ts'
import type { Transaction } from './apply.ts'

/** R11: those that were read or went on last are kept. */
const sessionsMax = 4096
const unitsMax = 8 * 1024 * 1024

/** `entries` are oldest first; `seq` is the event that it went on with last. */
type Conversation = { entries: Entry[]; total: number; tokens: number; units: number; seq: number }

export class Conversations {
  readonly #known = new Map<string, Conversation>()
  /** Those that somebody reads from the views now. */
  readonly #reading = new Map<string, object>()
  #units = 0

  /** Null where it is not here, or where something other than what a turn is shown is asked for. */
  page(session: string, select: EntrySelect, durable: number): EntryPage | null {
    const known = isWhatTurnsAreShown(select) ? this.#known.get(session) : undefined
    if (known === undefined || known.seq > durable) return null
    this.#known.delete(session)
    this.#known.set(session, known)
    const { total } = known
    // Whoever is shown them may do with them what they like.
    const entries = known.entries.map((entry) => ({ ...entry }))
    const budget = total - entries.length
    return { entries, total, dropped: { age: 0, roles: 0, keywords: 0, last: 0, budget, unsearched: 0 } }
  }

  /** Reads it from the views, and keeps it unless it went on meanwhile. */
  async learn(session: string, select: EntrySelect, read: () => Promise<EntryPage>): Promise<EntryPage> {
    if (!isWhatTurnsAreShown(select)) return read()
    const reading = {}
    this.#reading.set(session, reading)
    try {
      const page = await read()
      if (this.#reading.get(session) === reading) this.#keep(session, page)
      return page
    } finally {
      if (this.#reading.get(session) === reading) this.#reading.delete(session)
    }
  }

  /** `isKept`: whether it is a session that somebody may come back to. */
  apply({ seq: last, at, events }: Transaction, isKept: (session: string) => boolean): void {
    let seq = last - events.length
    for (const event of events) {
      seq += 1
      if (event.type !== 'turn.ended' || event.entry === null) continue
      this.#reading.delete(event.session)
      let known = this.#known.get(event.session)
      if (known === undefined && event.entry.n === 1 && isKept(event.session))
        this.#known.set(event.session, (known = { entries: [], total: 0, tokens: 0, units: 0, seq }))
      if (known === undefined) continue
      for (const entry of toEntries(event, event.entry, at)) this.#add(known, entry)
      known.seq = seq
      this.#dropOldest()
    }
  }

  clear(): void {
    this.#known.clear()
    this.#reading.clear()
    this.#units = 0
  }

  #keep(session: string, { entries, total }: EntryPage): void {
    this.#forget(session)
    const known: Conversation = { entries: [], total: 0, tokens: 0, units: 0, seq: 0 }
    for (const entry of entries) this.#add(known, { ...entry })
    known.total = total
    this.#known.set(session, known)
    this.#dropOldest()
  }

  /** As the walk over the views does it (E2): the first one from the newest that does not fit ends the selection. */
  #add(known: Conversation, entry: Entry): void {
    const { entries } = known
    entries.push(entry)
    known.total = entry.n
    this.#count(known, entry, 1)
    for (let [oldest] = entries; oldest !== undefined; [oldest] = entries) {
      if (known.tokens <= historyTokensMax && known.tokens - oldest.tokens < historyTokensMax) return
      entries.shift()
      this.#count(known, oldest, -1)
    }
  }

  #count(known: Conversation, { tokens, text }: Entry, sign: 1 | -1): void {
    known.tokens += sign * tokens
    known.units += sign * text.length
    this.#units += sign * text.length
  }

  #dropOldest(): void {
    for (const oldest of this.#known.keys()) {
      if (this.#units <= unitsMax && this.#known.size <= sessionsMax) return
      this.#forget(oldest)
    }
  }

  #forget(session: string): void {
    this.#units -= this.#known.get(session)?.units ?? 0
    this.#known.delete(session)
  }
}

type Ended = EventOf<'turn.ended'>

/** Half of a surrogate pair cannot be stored, so it is shown as what is stored. */
function toEntries({ turn, toolCalls }: Ended, said: NonNullable<Ended['entry']>, at: number): Entry[] {
  const { n, asked, askedTokens, from, startedAt, answered, answeredTokens } = said
  return [
    {
      n,
      role: 'user',
      at: startedAt,
      text: asked.toWellFormed(),
      tokens: askedTokens,
      from,
      turn: turn ?? '',
      hasSteps: false,
      steps: null,
    },
    {
      n: n + 1,
      role: 'assistant',
      at,
      text: answered.toWellFormed(),
      tokens: answeredTokens,
      from: null,
      turn: turn ?? '',
      hasSteps: toolCalls.length > 0,
      steps: null,
    },
  ]
}

const isWhatTurnsAreShown = ({ filter, tokensMax }: EntrySelect): boolean =>
  tokensMax === historyTokensMax && Object.keys(filter).length === 0
