/** Adds to one of many counts. */
export function count(map: Map<string, number>, name: string, by = 1): void {
  map.set(name, (map.get(name) ?? 0) + by)
}
