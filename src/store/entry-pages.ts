/** Entries of a conversation by their numbers, as many as fit, in slices. */
import type { DatabaseSync } from 'node:sqlite'
import type { Entry } from '../model/context.ts'
import type { Store } from '../runtime/kernel/store-port.ts'
import { arrays, entryAt, entryColumns, type RawArray } from './rows.ts'
import { findSegment, listSegments } from './segments.ts'
import { runGently, unitsPerRow, unitsPerSlice } from './slices.ts'

export function prepareEntryPages(db: DatabaseSync): Store['entriesByNumber'] {
  const one = arrays(db.prepare(`select ${entryColumns} from entries e where e.session = ? and e.n = ?`))
  function* read(
    session: string,
    numbers: readonly number[],
    unitsMax: number,
  ): Generator<undefined, Entry[]> {
    const newest = numbers.reduce((most, n) => Math.max(most, n), 0)
    const segments = listSegments(db, session, newest)
    const entries: Entry[] = []
    let [units, looked] = [0, 0]
    for (const n of numbers) {
      const raw = one.get(findSegment(segments, n)?.session ?? session, n) as RawArray | undefined
      if (raw === undefined) continue
      const entry = entryAt(raw)
      entries.push(entry)
      units += entry.text.length
      if (units > unitsMax) break
      looked += unitsPerRow + entry.text.length
      if (looked <= unitsPerSlice) continue
      looked = 0
      yield
    }
    return entries
  }
  return (session, numbers, unitsMax = Infinity) => runGently(read(session, numbers, unitsMax))
}
