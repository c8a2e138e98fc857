/** Whether the store can write, and what is said while it cannot. */
import type { Millis } from '../../model/id.ts'
import { explain, type Refusal } from '../../model/refusal.ts'

/**
 * The store cannot write now. Nobody knows whether what was under way is kept; the log will tell when it can
 * be written again.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  readonly refusal: Extract<Refusal, { code: 'store_unavailable' }>
  constructor(refusal: Extract<Refusal, { code: 'store_unavailable' }>, options?: ErrorOptions) {
    super(explain(refusal), options)
    this.refusal = refusal
  }
}

/** `since` is the wall clock's time. `checking`: the file is being looked through, so many tables of all. */
export type StoreHealth =
  | { state: 'ok'; checking?: { done: number; of: number } }
  | { state: 'unavailable'; since: Millis; refusal: StoreUnavailable['refusal'] }
