/** What each session has used with everything that it called, from what was recorded; see own-fold.ts. */
import type { Event } from '../src/model/event.ts'
import type { Row } from './own-fold.ts'

type Use = { tokens: number; spent: number; plan: number; unpriced: number }

export class OwnSessionCosts {
  readonly #ephemeral = new Set<string>()
  /** The session of each turn, and the turn that called it. */
  readonly #turns = new Map<string, { session: string; caller: string | null }>()
  readonly #uses: { turn: string; use: Use }[] = []

  take(event: Event): void {
    if (event.type === 'session.created' && event.kind === 'ephemeral') this.#ephemeral.add(event.session)
    if (event.type === 'call.opened')
      this.#turns.set(`turn_${event.call.slice('call_'.length)}`, {
        session: event.target,
        caller: event.turn,
      })
    if ((event.type === 'message.sent' || event.type === 'message.delivered') && event.turn !== null)
      if (!this.#turns.has(event.turn)) this.#turns.set(event.turn, { session: event.session, caller: null })
    if (event.type !== 'turn.ended' || event.turn === null) return
    const { tokensUsed: tokens, spent } = event
    const use = {
      tokens,
      spent: spent?.nanoUsd ?? 0,
      plan: spent?.plan ?? 0,
      unpriced: spent?.unpriced ?? tokens,
    }
    if (tokens > 0 || use.spent > 0) this.#uses.push({ turn: event.turn, use })
  }

  render(): Map<string, Row> {
    const rows = new Map<string, Row>()
    for (const { turn, use } of this.#uses)
      for (const session of this.#listAbove(turn)) {
        const row = rows.get(session)
        const add = (column: string, more: number): number => Number(row?.[column] ?? 0) + more
        rows.set(session, {
          session,
          tokens: add('tokens', use.tokens),
          spent: add('spent', use.spent),
          spent_plan: add('spent_plan', use.plan),
          unpriced: add('unpriced', use.unpriced),
        })
      }
    return rows
  }

  #listAbove(first: string): Set<string> {
    const sessions = new Set<string>()
    for (let at = this.#turns.get(first); at !== undefined; at = this.#turns.get(at.caller ?? ''))
      if (!this.#ephemeral.has(at.session)) sessions.add(at.session)
    return sessions
  }
}
