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
  let level: object[] = []
  let below: object[] = []
  /** What holds others is looked at with its level. */
  const fits = (part: unknown): boolean => {
    if (part === null || typeof part === 'string' || typeof part === 'boolean') return true
    if (typeof part === 'number') return Number.isFinite(part)
    return typeof part === 'object' && below.push(part) > 0
  }
  if (!fits(value)) return false
  for (let levels = 1; below.length > 0; levels += 1) {
    ;[level, below] = [below, []]
    for (const one of level) {
      if (Array.isArray(one)) {
        for (const part of one as unknown[]) if (levels > levelsMax || !fits(part)) return false
        continue
      }
      if (!isPlain(one)) return false
      // A plain object has what it has by itself; a list of its values would take three times as long.
      for (const name in one)
        if (levels > levelsMax || !fits((one as Record<string, unknown>)[name])) return false
    }
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
  // No two have the same name.
  fields.sort(([a], [b]) => (a < b ? -1 : 1))
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
