/**
 * O4: what a turn is charged is what its recorded steps used, nothing begins without a token left, and all of it
 * stays within the budget but for what a driver lied about. O3: a crash repeats one answer and the request that
 * was under way, never more.
 */
import type { EventOf } from '../../src/model/event.ts'
import type { NodeId, TurnId } from '../../src/model/id.ts'
import type { Broken, Ledger, LedgerTurn } from '../ledger.ts'
import { count } from '../count.ts'

/** What the simulated model takes for a summary. */
export const summaryTokens = 10
export const summaryWords = 'a summary of'
const summaryPattern = new RegExp(`^${summaryWords} \\d+$`)

/** While a request is under way, the answer before it is being written. */
const unwrittenMax = 1

export class Spending {
  /** What drivers said they used, also where nobody recorded it, and by how much they went too far. */
  readonly #spent = new Map<TurnId, number>()
  readonly #over = new Map<TurnId, number>()
  readonly #costs = new Map<string, number>()
  readonly #summaries = new Set<TurnId>()
  readonly #recorded = new Map<TurnId, number>()
  /** Answers that the present activation of a turn has, and the log does not. */
  readonly #unwritten = new Map<TurnId, { activation: AbortSignal; texts: Set<string> }>()

  /** Before a request. What an activation does that has lost its turn is nobody's. */
  checkBegun(ledger: Ledger, turn: TurnId, node: NodeId, activation: AbortSignal): Broken {
    const known = ledger.turns.get(turn)
    if (known === undefined || known.state !== 'running' || known.node !== node) return null
    const present = this.#unwritten.get(turn)
    if (present?.activation !== activation) return null
    const unwritten = present.texts.size
    if (unwritten > unwrittenMax)
      return `O3: ${turn} begins a request, and a crash would repeat ${unwritten} answers before it`
    const max = known.grant.tokensMax
    if (max === null) return null
    const left = max - known.used - ledger.below(known)
    return left > 0 ? null : `O4: ${turn} begins a request with ${left} of ${max} tokens left`
  }

  /** What a request took; `text` is what it said. */
  think(turn: TurnId, activation: AbortSignal, text: string, tokens: number, over: number): void {
    this.#costs.set(text, tokens)
    const present = this.#unwritten.get(turn)
    if (present?.activation === activation) present.texts.add(text)
    this.#spend(turn, tokens, over)
  }

  /** What an earlier activation had not written is lost with it. */
  begin = (turn: TurnId, activation: AbortSignal): void =>
    void this.#unwritten.set(turn, { activation, texts: new Set() })

  #spend(turn: TurnId, tokens: number, over: number): void {
    count(this.#spent, turn, tokens)
    if (over > 0) count(this.#over, turn, over)
  }

  /** It may be written for a call of this turn, and may be more than was left. */
  expectSummary(turn: TurnId): void {
    if (this.#summaries.has(turn)) return
    this.#summaries.add(turn)
    this.#spend(turn, summaryTokens, summaryTokens)
  }

  /** With what no event tells yet. */
  estimate = (turn: LedgerTurn): number => Math.max(turn.used, this.#spent.get(turn.id) ?? 0)

  /** A request costs what its model said. */
  applyStep({ turn, kind, output, usage }: EventOf<'step.ended'>): Broken {
    if (turn === null || kind === 'tool') return null
    const charged = usage === null ? 0 : usage.input + usage.output
    count(this.#recorded, turn, charged)
    const { text } = output as { text: string }
    this.#unwritten.get(turn)?.texts.delete(text)
    const known = kind === 'model' ? this.#costs.get(text) : summaryPattern.test(text) ? summaryTokens : 0
    return known === charged
      ? null
      : `O4: ${turn} is charged ${charged} tokens for "${text}", which took ${known ?? 'nobody knows how many'}`
  }

  /** Before the turn ends in the ledger. */
  checkEnd(ledger: Ledger, { turn: id, tokensUsed, error }: EventOf<'turn.ended'>): Broken {
    const turn = ledger.turn(id)
    const recorded = this.#recorded.get(turn.id) ?? 0
    // What could not be recorded was paid for, and its end says so.
    const isWhole = error?.includes('not_recorded: ') !== true
    const most = isWhole ? recorded : Math.max(recorded, this.#spent.get(turn.id) ?? 0)
    if (tokensUsed < recorded || tokensUsed > most)
      return `O4: ${turn.id} is charged ${tokensUsed} tokens, and its recorded steps used ${recorded}`
    const max = turn.grant.tokensMax
    if (max === null) return null
    const all = tokensUsed + ledger.below(turn)
    return all <= max + this.#sumOver(turn)
      ? null
      : `O4: ${turn.id} and those below it used ${all} of ${max} tokens`
  }

  #sumOver = (turn: LedgerTurn): number =>
    turn.children.reduce((sum, child) => sum + this.#sumOver(child), this.#over.get(turn.id) ?? 0)
}
