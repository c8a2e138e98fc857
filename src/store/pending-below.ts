/** How many calls of a turn are pending, in memory: most have none, and nobody needs to look for what is below them. */
import type { TurnId } from '../model/id.ts'
import { PassingMap } from '../model/passing-map.ts'

export class PendingBelow {
  readonly #counts = new PassingMap<TurnId, number>()

  isNone = (turn: TurnId): boolean => this.#counts.get(turn) === undefined

  open(turn: TurnId): void {
    this.#counts.set(turn, (this.#counts.get(turn) ?? 0) + 1)
  }

  end(turn: TurnId): void {
    const count = (this.#counts.get(turn) ?? 0) - 1
    if (count > 0) this.#counts.set(turn, count)
    else this.#counts.delete(turn)
  }

  /** It has ended. */
  forget(turn: TurnId): void {
    this.#counts.delete(turn)
  }

  clear(): void {
    this.#counts.clear()
  }
}
