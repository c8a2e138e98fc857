/** The beginning of a value's JSON, for messages about it. It costs little and never throws. */
const unitsMax = 400
const levelsMax = 8

export function jsonHead(value: unknown): string {
  try {
    return write(value, levelsMax, unitsMax)
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
