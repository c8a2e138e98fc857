/** What was spent on each day in each directory, from what was recorded; see own-fold.ts. */
import type { Event } from '../src/model/event.ts'
import type { Place, Row } from './own-fold.ts'

const dayMs = 24 * 60 * 60 * 1000

export class OwnDays {
  readonly #directories = new Map<string, string>()
  /** What the steps of each turn have cost. */
  readonly #steps = new Map<string, number>()
  readonly #days = new Map<string, Row>()

  take(event: Event, { at }: Place): void {
    if (event.type === 'session.created') this.#directories.set(event.session, event.cwd)
    if (event.type === 'step.ended' && event.turn !== null) {
      const cost = event.usage?.cost?.nanoUsd ?? 0
      this.#steps.set(event.turn, this.countSteps(event.turn) + cost)
      this.#spend(event.session, at, cost)
    }
    if (event.type === 'turn.ended')
      this.#spend(event.session, at, (event.spent?.nanoUsd ?? 0) - this.countSteps(event.turn ?? ''))
  }

  countSteps = (turn: string): number => this.#steps.get(turn) ?? 0

  #spend(session: string, at: number, cost: number): void {
    if (cost <= 0) return
    const [day, cwd] = [Math.floor(at / dayMs), this.#directories.get(session) ?? '']
    const key = `${day}\u0000${cwd}`
    const spent = Number(this.#days.get(key)?.['spent'] ?? 0) + cost
    this.#days.set(key, { day, cwd, spent })
  }

  render = (): Map<string, Row> => this.#days
}
