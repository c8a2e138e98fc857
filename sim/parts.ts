/** A long run in parts: what each came to stands in a file, so that a stop loses little and the next run goes on. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Totals, type SavedTotals, type SeedResult } from './totals.ts'

const seedsPerPart = 500

type Part = { from: number; count: number; file: string | null; totals: Totals }

export class Parts {
  readonly #parts: Part[] = []

  /** Without a directory it is one part that nobody keeps. */
  constructor(from: number, seeds: number, directory: string | null) {
    if (directory !== null) mkdirSync(directory, { recursive: true })
    const size = directory === null ? Math.max(1, seeds) : seedsPerPart
    for (let first = from; first < from + seeds; first += size) {
      const count = Math.min(size, from + seeds - first)
      const file = directory === null ? null : join(directory, `${first}-${first + count - 1}.json`)
      const totals = new Totals()
      if (file !== null && existsSync(file))
        totals.addSaved(JSON.parse(readFileSync(file, 'utf8')) as SavedTotals)
      this.#parts.push({ from: first, count, file, totals })
    }
  }

  /** The seeds that are still to be played. */
  listMissing(): number[] {
    return this.#parts
      .filter(({ count, totals }) => totals.seeds < count)
      .flatMap(({ from, count }) => Array.from({ length: count }, (_, index) => from + index))
  }

  add(result: SeedResult): void {
    const part = this.#parts.find(({ from, count }) => result.seed >= from && result.seed < from + count)
    if (part === undefined) throw new Error(`seed ${result.seed} is of no part`)
    part.totals.add(result)
    if (part.file === null || part.totals.seeds < part.count) return
    // Under its name only when it is whole.
    writeFileSync(`${part.file}.new`, JSON.stringify(part.totals.save()))
    renameSync(`${part.file}.new`, part.file)
  }

  /** Of all parts. */
  sum(): Totals {
    const totals = new Totals()
    for (const part of this.#parts) totals.addSaved(part.totals.save())
    return totals
  }
}
