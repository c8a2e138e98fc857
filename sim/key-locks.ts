/**
 * Locks on keys, as PostgreSQL's advisory locks: taken one after another in one order, so that nobody waits in
 * a ring, each given in the order in which it was asked for, and all kept until the end. One lock stands for all
 * keys: who names keys shares it, and who wants everything has it alone.
 */
export class KeyLocks {
  readonly #waiting = new Map<string, (() => void)[]>()
  /** How many share everything; -1 where somebody has it alone. */
  #sharing = 0
  readonly #forEverything: { alone: boolean; go: () => void }[] = []

  /** Resolves with the release when all are held. */
  async take(keys: Iterable<string>): Promise<() => void> {
    await this.#takeEverything(false)
    const held = [...new Set(keys)].toSorted()
    for (const key of held) await this.#takeOne(key)
    return () => {
      for (const key of held) this.#giveBack(key)
      this.#sharing -= 1
      this.#letIn()
    }
  }

  /** The same, when nobody else holds any. */
  async takeAll(): Promise<() => void> {
    await this.#takeEverything(true)
    return () => {
      this.#sharing = 0
      this.#letIn()
    }
  }

  #takeEverything(alone: boolean): Promise<void> | void {
    if (this.#forEverything.length === 0 && this.#isFree(alone)) return this.#enter(alone)
    return new Promise((go) => void this.#forEverything.push({ alone, go }))
  }

  #isFree = (alone: boolean): boolean => (alone ? this.#sharing === 0 : this.#sharing >= 0)

  #enter(alone: boolean): void {
    this.#sharing = alone ? -1 : this.#sharing + 1
  }

  #letIn(): void {
    for (let next = this.#forEverything[0]; next !== undefined; next = this.#forEverything[0]) {
      if (!this.#isFree(next.alone)) return
      this.#forEverything.shift()
      this.#enter(next.alone)
      next.go()
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
