/** Folds steps: summaries, and what was spent into the days on which it was recorded. */
import type { DatabaseSync } from 'node:sqlite'
import { toDay } from '../model/day-budget.ts'
import type { EventOf } from '../model/event.ts'
import type { Millis } from '../model/id.ts'

export const prepareStepWrites = (db: DatabaseSync) => ({
  summary: db.prepare('update sessions set summary = ?, summary_entries = ? where id = ?'),
  findPaid: db.prepare('select paid from turns where id = ?'),
  paid: db.prepare('update turns set paid = paid + ? where id = ?'),
  spend: db.prepare(
    `insert into spent_days (day, cwd, spent)
      values (?1, coalesce((select cwd from sessions where id = ?2), ''), ?3)
      on conflict do update set spent = spent + excluded.spent`,
  ),
})
type StepWrites = ReturnType<typeof prepareStepWrites>

export function applyStep(writes: StepWrites, event: EventOf<'step.ended'>, at: Millis): void {
  if (event.kind === 'summary' && event.ok) {
    const output = event.output as { text: string; entries: number }
    writes.summary.run(output.text, output.entries, event.session)
  }
  const nanoUsd = event.usage?.cost?.nanoUsd ?? 0
  if (nanoUsd === 0 || event.turn === null) return
  writes.paid.run(nanoUsd, event.turn)
  writes.spend.run(toDay(at), event.session, nanoUsd)
}

/** A request that was cut off is no step, but it was paid for: it counts on the day on which its turn ends. */
export function applyTurnCost(writes: StepWrites, event: EventOf<'turn.ended'>, at: Millis): void {
  if (event.spent === undefined || event.turn === null) return
  const { paid } = (writes.findPaid.get(event.turn) ?? { paid: 0 }) as { paid: number }
  const rest = event.spent.nanoUsd - paid
  if (rest > 0) writes.spend.run(toDay(at), event.session, rest)
}
