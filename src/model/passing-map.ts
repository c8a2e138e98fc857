/**
 * A map whose entries come and go, like turns while they run.
 *
 * A `Map` makes itself a new table when the old one is full of what was deleted, and the old table keeps a pointer
 * to the new one. Once one of them is old to the garbage collector, it keeps every later one with all that was in it,
 * until the whole heap is collected: three quarters of what was under way at any moment were copied twice and grew
 * old in this way. So the map itself is made anew from time to time: nothing points to its tables then.
 */
export class PassingMap<K, V> implements Map<K, V> {
  #map = new Map<K, V>()
  #passed = 0

  get size(): number {
    return this.#map.size
  }

  get = (key: K): V | undefined => this.#map.get(key)
  has = (key: K): boolean => this.#map.has(key)

  /** Made anew here and not where one is deleted: whoever deletes while it looks through all of them sees that. */
  set(key: K, value: V): this {
    if (this.#passed > passedMin && this.#passed > this.#map.size) {
      this.#map = new Map(this.#map)
      this.#passed = 0
    }
    this.#map.set(key, value)
    return this
  }

  delete(key: K): boolean {
    const was = this.#map.delete(key)
    if (was) this.#passed += 1
    return was
  }

  clear(): void {
    this.#map = new Map()
    this.#passed = 0
  }

  forEach(look: (value: V, key: K, map: Map<K, V>) => void): void {
    for (const [key, value] of this.#map) look(value, key, this)
  }

  keys = (): MapIterator<K> => this.#map.keys()
  values = (): MapIterator<V> => this.#map.values()
  entries = (): MapIterator<[K, V]> => this.#map.entries();
  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#map[Symbol.iterator]()
  }
  readonly [Symbol.toStringTag] = 'PassingMap'
}

const passedMin = 64
