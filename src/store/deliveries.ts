/**
 * Tells what became of works, after the commit that made them durable (R2) and in its order. What a work's caller does
 * next runs at once, so many are told in slices, and others run in between.
 * While works wait that must not be late, nobody is told: recording what ends comes before what follows from it. They
 * are told when the disk has those works.
 */
import type { Hint } from '../runtime/kernel/store-port.ts'
import { tellAll } from './hints.ts'
import type { Settled } from './work-queue.ts'

/** A dozen milliseconds of what follows. */
const worksPerSlice = 64
/** So often in a row others go first: nobody waits for ever. */
const putOffMax = 16

export class Deliveries {
  readonly #listeners: ReadonlySet<(hints: readonly Hint[]) => void>
  #waiting: Settled[] = []
  #putOff = 0
  #scheduled = false

  constructor(listeners: ReadonlySet<(hints: readonly Hint[]) => void>) {
    this.#listeners = listeners
  }

  isEmpty = (): boolean => this.#waiting.length === 0

  /** `later`: somebody goes first, and comes here again. */
  add(settled: readonly Settled[], later: boolean): void {
    for (const one of settled) this.#waiting.push(one)
    this.#putOff = later ? this.#putOff + 1 : 0
    if (!later || this.#putOff > putOffMax) this.tell()
  }

  /** Also while the disk has the next group: nobody is made late by it then. */
  tell(): void {
    if (this.#scheduled || this.isEmpty()) return
    this.#putOff = 0
    this.#tellSlice()
  }

  #tellSlice(): void {
    const slice = this.#waiting.splice(0, worksPerSlice)
    for (const { job, ok, value } of slice) {
      if (ok) job?.resolve(value)
      else job?.reject(value)
    }
    const hints = slice.flatMap((one) => one.hints)
    if (hints.length > 0) tellAll(this.#listeners, hints)
    if (this.isEmpty()) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#tellSlice()
    })
  }
}
