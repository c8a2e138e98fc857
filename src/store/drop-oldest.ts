/** How many that are in use are passed over for one that is dropped: each is then behind all others. */
const passedMax = 8

/**
 * Drops one where there are more than `max`: the oldest that nobody uses. What is in use stays, however many that are,
 * and is looked at again after all others.
 */
export function dropOldest<K, V>(map: Map<K, V>, max: number, isUnused: (value: V) => boolean): void {
  if (map.size <= max) return
  let passed = 0
  for (const [key, value] of map) {
    map.delete(key)
    if (isUnused(value)) return
    map.set(key, value)
    passed += 1
    if (passed === passedMax) return
  }
}
