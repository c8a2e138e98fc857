/**
 * The views while the disk fails. What was committed and is not in them yet cannot be written now, so it is folded in a
 * transaction of the connection that reads. That stays in memory and is never committed: whoever reads meanwhile finds
 * all that was acknowledged (R2, R10).
 */
import type { DatabaseSync } from 'node:sqlite'
import { applyBatch } from './apply.ts'
import { findLastSeq } from './log-row.ts'
import { foldedUpTo, readTail } from './tail.ts'
import { prepareWrites } from './write-statements.ts'

export class OutageViews {
  readonly #reader: DatabaseSync
  /** Whether it only reads otherwise. In memory one connection does both. */
  readonly #onlyReads: number
  #isFolded = false

  constructor(reader: DatabaseSync) {
    this.#reader = reader
    this.#onlyReads = Number(reader.prepare('pragma query_only').get()?.['query_only'])
  }

  /** Up to the last row that is known to be durable. */
  fold(durable: number): void {
    if (this.#isFolded) return
    try {
      this.#reader.exec('pragma query_only = off; pragma cache_spill = off; begin immediate')
      this.#isFolded = true
      const rows = readTail(this.#reader).filter(({ seq }) => seq <= durable)
      applyBatch(prepareWrites(this.#reader), rows)
    } catch {
      // Somebody holds the file, or memory is short: what is read is as old as the views. The next read tries again.
      this.drop()
    }
  }

  /** Whether the views have more than that: what they were written with is there to read, and may be lost. */
  isAhead = (durable: number): boolean => (foldedUpTo(this.#reader) ?? findLastSeq(this.#reader)) > durable

  /** Before anything is written again. */
  drop(): void {
    if (this.#isFolded && this.#reader.isTransaction) this.#reader.exec('rollback')
    this.#isFolded = false
    this.#reader.exec(`pragma query_only = ${this.#onlyReads}`)
  }
}
