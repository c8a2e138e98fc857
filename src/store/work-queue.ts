/**
 * Works that wait for the writer, in the order in which they came. One that is held keeps its place: those
 * that name one of its keys wait behind it, and the others pass. An urgent one goes before all that are not, but for
 * those that are held.
 */
import type { Hint, Key, Tx } from '../runtime/kernel/store-port.ts'

export type Job = {
  keys: readonly Key[]
  /** What is known of the texts that it appends, once they were looked at. */
  known: unknown
  urgent: boolean
  work: (tx: Tx) => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
/** What became of it, told when it is durable. Null: nobody waits for it, and there are only hints. */
export type Settled = { job: Job | null; ok: boolean; value: unknown; hints: readonly Hint[] }

const share = (one: { keys: readonly Key[] }, other: { keys: readonly Key[] }): boolean =>
  one.keys.some((key) => other.keys.includes(key))

export class WorkQueue<Work extends { keys: readonly Key[]; urgent?: boolean }> {
  #works: Work[] = []
  #urgent: Work[] = []
  readonly #held = new Set<Work>()
  /** Of this round: those that were passed over, in their order, and the keys that nobody may pass. */
  #passed: Work[] = []
  readonly #blocked = new Set<Key>()

  push(work: Work): void {
    const isFirst = work.urgent === true && ![...this.#held].some((held) => share(held, work))
    const list = isFirst ? this.#urgent : this.#works
    list.push(work)
  }

  isEmpty(): boolean {
    return this.#works.length === 0 && this.#passed.length === 0 && this.#urgent.length === 0
  }

  hasUrgent = (): boolean => this.#urgent.length > 0

  /** The next that may run in this round. */
  take(): Work | undefined {
    for (let work = this.#shift(); work !== undefined; work = this.#shift()) {
      if (this.#mayRun(work)) return work
      this.#passOver(work)
    }
    return undefined
  }

  #mayRun(work: Work): boolean {
    if (this.#held.has(work)) return false
    return this.#blocked.size === 0 || !work.keys.some((key) => this.#blocked.has(key))
  }

  #shift = (): Work | undefined => this.#urgent.shift() ?? this.#works.shift()

  /** One that was just taken: until it is released it does not run. */
  hold(work: Work): void {
    this.#held.add(work)
    this.#passOver(work)
    const behind = this.#urgent.filter((urgent) => share(work, urgent))
    if (behind.length === 0) return
    this.#urgent = this.#urgent.filter((urgent) => !behind.includes(urgent))
    for (const urgent of behind) this.#passOver(urgent)
  }

  release(work: Work): void {
    this.#held.delete(work)
  }

  #passOver(work: Work): void {
    this.#passed.push(work)
    for (const key of work.keys) this.#blocked.add(key)
  }

  endRound(): void {
    if (this.#passed.length === 0) return
    this.#works = [...this.#passed, ...this.#works]
    this.#passed = []
    this.#blocked.clear()
  }

  /** Everything that waits; it is empty then. */
  drain(): Work[] {
    this.endRound()
    this.#held.clear()
    return [...this.#urgent.splice(0), ...this.#works.splice(0)]
  }
}
