/** What turns have used so far: those that ended say it themselves, of others the recorded steps are added up. */
import type { TurnRow } from '../../model/facts.ts'
import type { TurnId } from '../../model/id.ts'
import { addSpent, nothingSpent, readSpent as readCost, type Spent } from '../../model/money.ts'
import { readAll } from '../kernel/scope.ts'
import type { Store } from '../kernel/store-port.ts'

type Reader = Pick<Store, 'read'>
export type Amount = { tokens: number; spent: Spent }

export const noAmount: Amount = { tokens: 0, spent: nothingSpent }
export const addAmounts = (a: Amount, b: Amount): Amount => ({
  tokens: a.tokens + b.tokens,
  spent: addSpent(a.spent, b.spent),
})

async function readOwn(
  store: Reader,
  { id, session, state, openedSeq, tokensUsed, spent }: TurnRow,
): Promise<Amount> {
  if (state !== 'running') return { tokens: tokensUsed, spent }
  const steps = await readAll(store, openedSeq - 1, { sessions: [session], types: ['step.ended'] })
  let sum = noAmount
  for (const { event } of steps)
    if (event.type === 'step.ended' && event.turn === id && event.usage !== null)
      sum = addAmounts(sum, { tokens: event.usage.input + event.usage.output, spent: readCost(event.usage) })
  return sum
}

/** Of each turn of a flow: what it has used, with everything that it called. Each token counts once. */
export async function readSpent(
  store: Reader,
  rows: readonly TurnRow[],
): Promise<{ total: Amount; of: ReadonlyMap<TurnId, Amount> }> {
  const of = new Map<TurnId, Amount>()
  const callers = new Map<TurnId, TurnId>()
  for (const { id, call } of rows) if (call !== null) callers.set(id, call.callerTurn)
  let total = noAmount
  for (const row of rows) {
    const own = await readOwn(store, row)
    total = addAmounts(total, own)
    for (let turn: TurnId | undefined = row.id; turn !== undefined; turn = callers.get(turn))
      of.set(turn, addAmounts(of.get(turn) ?? noAmount, own))
  }
  return { total, of }
}

/** The greater of two counts of the same: one of them was made before everything below had stopped. */
export const greaterAmount = (a: Amount, b: Amount): Amount => (a.tokens > b.tokens ? a : b)
