/** The beginning of a value's JSON, for messages about it. It costs little and never throws. */
const unitsMax = 400
const levelsMax = 8

export function jsonHead(value: unknown, units = unitsMax): string {
  try {
    return write(value, levelsMax, units)
  } catch {
    // A getter or a proxy of a program that runs inside this process may throw.
    return `a value of type ${typeof value}`
  }
}

function write(value: unknown, levels: number, units: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, units))
  if (typeof value === 'bigint') return String(value).slice(0, units)
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? typeof value
  const isList = Array.isArray(value)
  if (levels === 0) return isList ? '[…]' : '{…}'
  let text = ''
  for (const key in value) {
    if (text.length > units) return `${isList ? '[' : '{'}${text},…`
    const field = (value as Record<string, unknown>)[key]
    if (field === undefined && !isList) continue
    const name = isList ? '' : `${JSON.stringify(key.slice(0, units))}:`
    text += `${text === '' ? '' : ','}${name}${write(field, levels - 1, units - text.length)}`
  }
  return isList ? `[${text}]` : `{${text}}`
}

/** Whether a JSON value is within bounds, found out without recursion and without writing it as text. */

type JsonBounds = { bytesMax: number; depthMax: number }

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
