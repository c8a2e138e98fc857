/**
 * Faults that no caller is left to hear of, as lines for the user: each thing once, however often it is met.
 */
import { DamagedRow } from '../../model/damaged-row.ts'
import { explain } from '../../model/refusal.ts'
import { storeRefusal } from './faults.ts'
import type { StoreHealth } from './store-health.ts'

const toldMax = 1000

/**
 * That the store cannot write was said when it began; a row that cannot be read is named once, however often
 * somebody comes across it.
 */
export function reportTo(warn: (text: string) => void): (fault: unknown) => void {
  const told = new Set<number>()
  return (fault) => {
    if (storeRefusal(fault) !== null) return
    if (!(fault instanceof DamagedRow))
      return warn(fault instanceof Error ? (fault.stack ?? fault.message) : String(fault))
    if (told.has(fault.row) || told.size >= toldMax) return
    told.add(fault.row)
    warn(fault.message)
  }
}

export const tellHealth =
  (warn: (text: string) => void) =>
  (health: StoreHealth): void =>
    warn(
      health.state === 'ok'
        ? 'the log can be written again; what was under way goes on'
        : explain(health.refusal),
    )
