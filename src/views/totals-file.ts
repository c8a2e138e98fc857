/**
 * Totals as they are kept beside the log, so that a restart does not count it again. The file says how far it has
 * counted, and of which log: one that was replaced or taken back from a copy is counted anew.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { readKept, replaceKept } from '../trust/kept-file.ts'
import type { Store } from '../runtime/kernel/store-port.ts'
import type { SavedTotals } from './totals.ts'

export type TotalsFile = {
  /** Null where there are none, or none that fit. */
  read(): Promise<SavedTotals | null>
  write(totals: SavedTotals): Promise<void>
}

/** Counts up where the totals are counted otherwise than before. */
const format = 2

/** The large parts are bytes of their own, so that what is asked for first need not wait for them. */
type Kept = Omit<SavedTotals, 'minutes' | 'known'> & { minutes: Uint8Array; known: Uint8Array }

/** Before the totals themselves: of which log they are, and a hash of them. */
type Mark = { format: number; first: string; last: string; hash: string }

export const totalsName = 'totals.kept'
const bytesMax = 64 * 1024 * 1024

const hashOf = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

export function totalsFile(directory: string, store: Pick<Store, 'event' | 'lastSeq'>): TotalsFile {
  const path = join(directory, totalsName)
  const describe = async (seq: number): Promise<string> => {
    const stored = await store.event(seq)
    return stored === null ? '' : hashOf(JSON.stringify([seq, stored.at, stored.event]))
  }
  return {
    async read() {
      try {
        const { mark, data } = split(await readKept(path, bytesMax))
        if (mark.format !== format || hashOf(data) !== mark.hash) return null
        const { minutes, known, ...totals } = deserialize(data) as Kept
        if (totals.seq > store.lastSeq() || mark.first === '') return null
        const fits = mark.first === (await describe(1)) && mark.last === (await describe(totals.seq))
        if (!fits) return null
        const read = { minutes: () => deserialize(minutes), known: () => deserialize(known) }
        return { ...totals, ...(read as Pick<SavedTotals, 'minutes' | 'known'>) }
      } catch {
        // Whatever is wrong with it, the log has everything.
        return null
      }
    },
    async write(totals) {
      // All of it at this moment: what is counted later must not be in it.
      const [minutes, known] = [serialize(totals.minutes()), serialize(totals.known())]
      const [data, seq] = [serialize({ ...totals, minutes, known } satisfies Kept), totals.seq]
      const mark: Mark = { format, first: await describe(1), last: await describe(seq), hash: hashOf(data) }
      const head = Buffer.from(`${JSON.stringify(mark)}\n`)
      await replaceKept(path, Buffer.concat([head, data]))
    },
  }
}

function split(kept: Buffer): { mark: Mark; data: Buffer } {
  const end = kept.indexOf('\n')
  return { mark: JSON.parse(kept.toString('utf8', 0, end)) as Mark, data: kept.subarray(end + 1) }
}
