/** What turns have used so far: those that ended say it themselves, of others the recorded steps are added up. */
import type { TurnRow } from '../../model/facts.ts'
import type { TurnId } from '../../model/id.ts'
import { readAll } from '../kernel/scope.ts'
import type { Store } from '../kernel/store-port.ts'

type Reader = Pick<Store, 'read'>

async function readOwn(
  store: Reader,
  { id, session, state, openedSeq, tokensUsed }: TurnRow,
): Promise<number> {
  if (state !== 'running') return tokensUsed
  const steps = await readAll(store, openedSeq - 1, { sessions: [session], types: ['step.ended'] })
  let sum = 0
  for (const { event } of steps)
    if (event.type === 'step.ended' && event.turn === id && event.usage !== null)
      sum += event.usage.input + event.usage.output
  return sum
}

/** Of each turn of a flow: what it has used, with everything that it called. Each token counts once. */
export async function readSpent(
  store: Reader,
  rows: readonly TurnRow[],
): Promise<{ total: number; of: ReadonlyMap<TurnId, number> }> {
  const of = new Map<TurnId, number>()
  const callers = new Map<TurnId, TurnId>()
  for (const { id, call } of rows) if (call !== null) callers.set(id, call.callerTurn)
  let total = 0
  for (const row of rows) {
    const own = await readOwn(store, row)
    total += own
    for (let turn: TurnId | undefined = row.id; turn !== undefined; turn = callers.get(turn))
      of.set(turn, (of.get(turn) ?? 0) + own)
  }
  return { total, of }
}
