/**
 * O1 for those outside: what they ask is decided at some moment between the question and the answer, which the
 * log does not show where the answer is no. So every state in between is asked what would be right in it.
 */
import type { Broken } from '../ledger.ts'

/** What is right at this moment: codes of refusals, or the names of successes. */
export type RightNow = () => Iterable<string>
type Ask = { what: string; judge: RightNow; right: Set<string> }

export class OpenAsks {
  readonly #open = new Set<Ask>()

  /** `told` is called with the answer, or with null where a fault was the answer. */
  begin(what: string, judge: RightNow): (answer: string | null) => Broken {
    const ask: Ask = { what, judge, right: new Set(judge()) }
    this.#open.add(ask)
    return (answer) => {
      this.#look(ask)
      this.#open.delete(ask)
      return answer === null || ask.right.has(answer)
        ? null
        : `O1: ${what} was answered ${answer}; right would be ${[...ask.right].join(' or ')}`
    }
  }

  #look(ask: Ask): void {
    for (const answer of ask.judge()) ask.right.add(answer)
  }

  /** After each transaction. */
  look(): void {
    for (const ask of this.#open) this.#look(ask)
  }
}
