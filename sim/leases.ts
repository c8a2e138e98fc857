/** The leases of nodes as the store has them: until when, and which beats say less than they seem to. */
import type { NodeId } from '../src/model/id.ts'

export type Beat = {
  ttlMs: number
  /** One that fails may be there all the same: then the lease is what it was, or what the beat said. */
  isSure: boolean
  /** Its process was gone before it got there: the store may take its time. */
  isLate: boolean
}

export class Leases {
  readonly #until = new Map<NodeId, number>()
  readonly #renewed = new Map<NodeId, number>()
  readonly #late = new Map<NodeId, number>()

  note(node: NodeId, { ttlMs, isSure, isLate }: Beat, { wall, now }: { wall: number; now: number }): void {
    const [before, until] = [this.until(node), wall + ttlMs]
    if (isSure && before <= wall) this.#renewed.set(node, now)
    if (isLate) this.#late.set(node, now)
    this.#until.set(node, isSure ? until : Math.min(until, before))
  }

  clear = (): void => this.#until.clear()

  until = (node: NodeId | null): number => (node === null ? 0 : (this.#until.get(node) ?? 0))

  /**
   * When, in elapsed time, a lease that was over was last renewed. No key protects a lease: who was deciding just
   * then may not know.
   */
  renewedAt = (node: NodeId | null): number => (node === null ? 0 : (this.#renewed.get(node) ?? 0))

  /** Since when, in elapsed time, others wait for the end of the lease of a process that is gone. */
  lateAt = (node: NodeId | null): number => (node === null ? 0 : (this.#late.get(node) ?? 0))
}
