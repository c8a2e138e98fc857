/** O3: each effect of a step happens once, and only after it was announced in the log. */
import type { Event } from '../../src/model/event.ts'
import type { TurnId } from '../../src/model/id.ts'
import { count } from '../count.ts'
import type { Broken } from '../ledger.ts'

/** Of the tool `note`, whose input says which one it is. */
const nameNote = (turn: TurnId | null, input: unknown): string =>
  `note ${String((input as { n?: unknown } | null)?.n)} of ${turn ?? 'nobody'}`

export class Effects {
  readonly #announced = new Set<string>()
  readonly #happened = new Map<string, number>()

  happen(turn: TurnId, input: unknown): Broken {
    const name = nameNote(turn, input)
    count(this.#happened, name)
    if (!this.#announced.has(name)) return `O3: ${name} is written, and the log does not announce it`
    return (this.#happened.get(name) ?? 0) > 1 ? `O3: ${name} is written twice` : null
  }

  apply(event: Event): Broken {
    if (event.type === 'step.started' && event.name === 'note')
      this.#announced.add(nameNote(event.turn, event.input))
    if (event.type !== 'step.ended' || event.name !== 'note' || !event.ok) return null
    const name = nameNote(event.turn, event.input)
    const times = this.#happened.get(name) ?? 0
    return times === 1 ? null : `O3: the log says that ${name} was written, which happened ${times} times`
  }
}
