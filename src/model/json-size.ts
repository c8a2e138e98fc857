/** Whether a JSON value is within bounds, found out without recursion and without writing it as text. */

export type JsonBounds = { bytesMax: number; depthMax: number }

/** Which bound the value exceeds; null if none. Stops as soon as it knows. */
export function exceededBound(value: unknown, { bytesMax, depthMax }: JsonBounds): keyof JsonBounds | null {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }]
  let bytes = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    bytes += bytesAlone(next.value)
    if (bytes > bytesMax) return 'bytesMax'
    if (next.value === null || typeof next.value !== 'object') continue
    const depth = next.depth + 1
    if (depth > depthMax) return 'depthMax'
    const inner: object = next.value
    for (const name in inner) {
      // Every member takes at least a comma, so what is put aside here is bounded too.
      bytes += 1 + (Array.isArray(inner) ? 0 : name.length + 3)
      if (bytes > bytesMax) return 'bytesMax'
      open.push({ value: (inner as Record<string, unknown>)[name], depth })
    }
  }
  return null
}

/** At least so many bytes as JSON, without what is inside. */
function bytesAlone(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  return value !== null && typeof value === 'object' ? 2 : 1
}
