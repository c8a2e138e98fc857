/** JSON values, and their canonical text: sorted keys, so that equal values have equal text. */
import { z } from 'zod'

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** More than `parseJson` takes from others, less than what is read of our own log. */
const levelsMax = 150

/** Zod's own `z.json()` recurses, and takes a tenth of a second for a large request. This one does neither. */
export const Json = z
  .unknown()
  .refine(isJson, `JSON with at most ${levelsMax} levels`) as unknown as z.ZodType<Json>

/** Level by level, without recursion. A value that contains itself is too deep, and so is none. */
export function isJson(value: unknown): value is Json {
  let level: unknown[] = [value]
  for (let levels = 0; level.length > 0; levels += 1) {
    if (levels > levelsMax) return false
    const below: unknown[] = []
    for (const one of level) {
      if (one === null || typeof one === 'string' || typeof one === 'boolean') continue
      if (typeof one === 'number' && Number.isFinite(one)) continue
      if (typeof one !== 'object') return false
      if (!Array.isArray(one) && !isPlain(one)) return false
      for (const part of Array.isArray(one) ? one : Object.values(one)) below.push(part)
    }
    level = below
  }
  return true
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

export function canonical(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  fields.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`
}

/** An object with named fields: neither null nor a list. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** A field that is text; empty where there is none. */
export function textAt(value: unknown, field: string): string {
  const found = isRecord(value) && Object.hasOwn(value, field) ? value[field] : undefined
  return typeof found === 'string' ? found : ''
}
