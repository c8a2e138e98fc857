/** A map that drops its oldest entry when it is full: what never ends must not use memory forever (R11). */
export type BoundedMap<K, V> = {
  get(key: K): V | undefined
  set(key: K, value: V): void
  /** Gets and removes. */
  take(key: K): V | undefined
  size(): number
}

export function boundedMap<K, V>(entriesMax: number, map = new Map<K, V>()): BoundedMap<K, V> {
  return {
    get: (key) => map.get(key),
    set(key, value) {
      if (!map.has(key) && map.size >= entriesMax) map.delete(map.keys().next().value as K)
      map.set(key, value)
    },
    take(key) {
      const value = map.get(key)
      map.delete(key)
      return value
    },
    size: () => map.size,
  }
}
