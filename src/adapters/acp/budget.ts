/**
 * What a prompt has used so far, as far as it can be seen, against what its turn may still use. An agent says what
 * it used only when it has finished; meanwhile there is its text, and the size of its context where it tells that:
 * its next request sends at least so much.
 */
import { countRoughly, type CountTokens } from '../../model/text.ts'

export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent'
  constructor(spent: number, left: number) {
    super(`budget_exhausted: it was stopped after about ${spent} tokens, and ${left} were left of its budget`)
  }
}

export type BudgetWatch = {
  /** Of the text that it sends. */
  said(text: string): void
  /** The size of its context; null where it does not say. */
  holds(tokens: number | null): void
  /** At least so many. */
  spent(): number
}

/** `left` is null where there is no budget; `stop` is called once. */
export function watchBudget(
  left: number | null,
  asked: number,
  count: CountTokens,
  stop: (fault: BudgetSpent) => void,
): BudgetWatch {
  let [seen, held, isOver] = [asked, 0, false]
  const spent = (): number => Math.max(seen, held)
  const look = (): void => {
    if (left === null || isOver || spent() <= left) return
    isOver = true
    stop(new BudgetSpent(spent(), left))
  }
  look()
  return {
    said(text) {
      if (left === null) return
      seen += countRoughly(count, text)
      look()
    },
    holds(tokens) {
      held = Math.max(held, tokens ?? 0)
      look()
    },
    spent,
  }
}
