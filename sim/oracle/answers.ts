/**
 * O2: what a callee said is what its caller reads. Every answer of a driver has a word that no other has, and
 * every thought names its turn, so a lost, swapped or invented text shows.
 */
import type { Event, EventOf } from '../../src/model/event.ts'
import { toTurnId, type CallId, type TurnId } from '../../src/model/id.ts'
import { getOrMake } from '../get-or-make.ts'
import type { Broken, Ledger } from '../ledger.ts'

const plain = (text: string): string => text.replaceAll(/\W/g, '_')
/** One word, so that it costs a conversation what any other word does. */
export const nameThought = (turn: TurnId, n: number): string => `${plain(turn)}_${n}`

export class Answers {
  /** What drivers gave as the answer of a turn. */
  readonly #given = new Map<TurnId, Set<string>>()
  #nonces = 0
  /** What the log says that a call or a root came to. */
  readonly #ended = new Map<string, { outcome: string; output: string }>()

  readonly #stopped = new Map<TurnId, string>()

  makeNonce = (turn: TurnId): string => `answer_${plain(turn)}_${(this.#nonces += 1)}`

  give(turn: TurnId, output: string): void {
    getOrMake(this.#given, turn, () => new Set<string>()).add(output)
  }

  apply(ledger: Ledger, event: Event): Broken {
    if (event.type === 'turn.cancelled') this.#stopped.set(event.turn as TurnId, event.outcome)
    if (event.type === 'call.ended') {
      this.#ended.set(event.call, { outcome: event.outcome, output: event.output })
      return this.#checkText(toTurnId(event.call), event)
    }
    if (event.type !== 'turn.ended' || ledger.turns.get(event.turn as TurnId)?.call !== null) return null
    this.#ended.set(event.turn as TurnId, { outcome: event.outcome, output: event.output })
    return this.#checkText(event.turn as TurnId, event)
  }

  #checkText(turn: TurnId, { outcome, output }: EventOf<'call.ended' | 'turn.ended'>): Broken {
    const given = this.#given.get(turn)
    if (outcome === 'completed')
      return output.trim() !== '' && given?.has(output) === true
        ? null
        : `O2: ${turn} completed with "${output}", which its driver never said`
    return checkThoughts(turn, output)
  }

  /** A turn that is told to stop has ended for its sender, who reads what it had said by then. */
  #checkStopped(turn: TurnId, outcome: string, text: string): Broken {
    const stopped = this.#stopped.get(turn)
    return stopped === outcome
      ? checkThoughts(turn, text)
      : `O2: somebody was told that ${turn} ended ${outcome}; the log says ${stopped ?? 'nothing'}`
  }

  /** A caller reads what the log has; `text` is null where its tool shows none. */
  checkTold(id: CallId | TurnId, outcome: string, text: string | null): Broken {
    const ended = this.#ended.get(id)
    if (ended === undefined) return this.#checkStopped(id as TurnId, outcome, text ?? '')
    if (ended.outcome !== outcome)
      return `O2: somebody was told that ${id} ended ${outcome}; the log says ${ended.outcome}`
    if (text === null || text === ended.output) return null
    // Who was told when it was stopped has read what it had said by then; the log has what it said in the end.
    if (this.#stopped.get(id as TurnId) === outcome) return checkThoughts(id as TurnId, text)
    return `O2: somebody was told "${text}" of ${id}; the log says "${ended.output}"`
  }
}

/** In their order; a turn that is asked again because of its schema begins at the first. */
function checkThoughts(turn: TurnId, output: string): Broken {
  let last = 0
  for (const thought of output.match(/\w+_\d+(?=\.)/g) ?? []) {
    last = thought === nameThought(turn, last + 1) ? last + 1 : thought === nameThought(turn, 1) ? 1 : 0
    if (last === 0) return `O2: ${turn} ended with "${output}", and did not say that`
  }
  return null
}
