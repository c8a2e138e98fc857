/**
 * Locks on keys, as PostgreSQL's advisory locks: taken one after another in one order, so that nobody waits in
 * a ring, each given in the order in which it was asked for, and all kept until the end.
 */
export class KeyLocks {
  readonly #waiting = new Map<string, (() => void)[]>()

  /** Resolves with the release when all are held. */
  async take(keys: Iterable<string>): Promise<() => void> {
    const held = [...new Set(keys)].toSorted()
    for (const key of held) await this.#takeOne(key)
    return () => {
      for (const key of held) this.#giveBack(key)
    }
  }

  #takeOne(key: string): Promise<void> | void {
    const queue = this.#waiting.get(key)
    if (queue === undefined) return void this.#waiting.set(key, [])
    return new Promise((resolve) => void queue.push(resolve))
  }

  #giveBack(key: string): void {
    const next = this.#waiting.get(key)?.shift()
    if (next === undefined) this.#waiting.delete(key)
    else next()
  }
}
