/** The shape of an answer: its keys and the types of its values, without the values. */
import type { Body } from './server.ts'

export type Shape = string | { [key: string]: Shape }

/** Lists of named things are compared by name, others by their first element. */
export function describeShape(value: Body, depth = 6): Shape {
  if (value === null || value === undefined) return 'null'
  if (typeof value !== 'object') return typeof value
  if (depth === 0) return 'object'
  if (!Array.isArray(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, describeShape(each, depth - 1)]),
    )
  const names = value.map((each) => each?.name ?? each?.type)
  if (value.length > 0 && names.every((name) => typeof name === 'string'))
    return Object.fromEntries(value.map((each, at) => [`[${names[at]}]`, describeShape(each, depth - 1)]))
  return value.length === 0 ? '[]' : { '[0]': describeShape(value[0], depth - 1) }
}

/** What `now` lacks of `before`. It may have more, and what was null may have a value, or the reverse. */
export function findMissing(before: Shape, now: Shape | undefined, path = ''): string[] {
  if (before === 'null' || before === '[]' || now === 'null' || now === '[]')
    return now === undefined ? [`${path}: is gone`] : []
  if (now === undefined) return [`${path}: is gone`]
  if (typeof before === 'string' || typeof now === 'string')
    return before === now ? [] : [`${path}: was ${JSON.stringify(before)}, is ${JSON.stringify(now)}`]
  // `$ref` and `$defs` are how a JSON Schema is written, not what it takes. What must be given may become less.
  return Object.entries(before)
    .filter(([key]) => !key.startsWith('$') && key !== 'required')
    .flatMap(([key, each]) => findMissing(each, now[key], `${path}.${key}`))
}

const isObject = (value: Body): boolean => typeof value === 'object' && value !== null

/** Where the values of `now` are not those of `before`; keys that are new are no difference. */
export function findChanged(before: Body, now: Body, path = ''): string[] {
  if (!isObject(before) || !isObject(now))
    return Object.is(before, now)
      ? []
      : [`${path}: was ${JSON.stringify(before)}, is ${JSON.stringify(now) ?? 'gone'}`]
  if (Array.isArray(before) && before.length !== now.length)
    return [`${path}: had ${before.length} elements, has ${now.length}`]
  return Object.entries(before).flatMap(([key, each]) => findChanged(each, now[key], `${path}.${key}`))
}
