/**
 * JSON from outside, parsed only after one linear scan has found that it is neither too long, nor too deep,
 * nor made of too many values, nor has an object with too many fields.
 *
 * The scan keeps one count for each level and reads no character twice, so it costs less than the parser that
 * follows it. What passes can be checked, walked and written down again by recursive code without running out
 * of stack: validators, JSON.stringify and every fold of ours rely on that.
 */
import type { Refusal } from './refusal.ts'
import { preview } from './text.ts'

export type JsonLimits = {
  bytesMax: number
  depthMax: number
  valuesMax: number
  /** Of one object. */
  fieldsMax: number
}

/**
 * For everything that others send us. A tool's input or a JSON Schema is rarely more than ten levels deep,
 * and the slowest recursive code that we use
 * overflows near 2,500 levels. Fifty thousand values are a large table, and take some milliseconds to check.
 * As fields of one object, which Node is slow to list and validators list several times, they would take a
 * tenth of a second and more.
 */
export const inletLimits: JsonLimits = {
  bytesMax: 4 * 1024 * 1024,
  depthMax: 100,
  valuesMax: 50_000,
  fieldsMax: 5000,
}

/** For what one Tieline writes and another reads: our own frames and lists with foreign JSON inside. */
export const ownLimits: JsonLimits = {
  bytesMax: 64 * 1024 * 1024,
  depthMax: 200,
  valuesMax: 2_000_000,
  fieldsMax: 200_000,
}

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const backslash = 0x5c
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** `field` is what the refusal names, or the key of the object in it that is too deep or too wide. */
export function parseJson(
  text: string,
  field: string,
  limits: JsonLimits = inletLimits,
): { value: unknown } | Refusal {
  // A unit is at most three bytes, so most texts need no counting.
  const bytes = text.length * 3 > limits.bytesMax ? new TextEncoder().encode(text).length : text.length
  if (bytes > limits.bytesMax) return { code: 'too_large', field, bytes, bytesMax: limits.bytesMax }
  const excess = findExcess(text, field, limits)
  if (excess !== null) return excess
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return notJson(field, text)
  }
}

export const notJson = (field: string, text: string): Refusal => {
  const given = preview(text, 80)
  return {
    code: 'bad_input',
    field,
    given: text === '' ? 'an empty text' : JSON.stringify(given.length < text.length ? `${given}…` : text),
    expected: 'JSON',
  }
}

/** Of each level; one for all scans, since making it takes longer than most of them. */
const counts = new Uint32Array(ownLimits.depthMax + 1)

/** Null where the text stays within the limits. Text that is no JSON may pass: the parser says so. */
export function findExcess(
  text: string,
  field: string,
  { depthMax, valuesMax, fieldsMax }: Omit<JsonLimits, 'bytesMax'>,
): Refusal | null {
  let depth = 0
  const fields = depthMax < counts.length ? counts : new Uint32Array(depthMax + 1)
  fields[0] = 0
  // Each bracket opens at most one value that no comma precedes: this never counts too few.
  let values = 1
  let key: [number, number] | null = null
  const isObject = /^\s*\{/.test(text)
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === quote) {
      const end = stringEnd(text, at)
      if (end < 0) return null
      if (depth === 1 && isObject) key = [at + 1, end]
      at = end
    } else if (unit === openList || unit === openObject) {
      depth += 1
      values += 1
      if (depth > depthMax)
        return excess(
          named(text, field, key),
          `JSON with more than ${depthMax} levels`,
          `at most ${depthMax} levels of nesting`,
        )
      fields[depth] = 0
    } else if (unit === closeList || unit === closeObject) {
      depth -= 1
    } else if (unit === comma) {
      values += 1
    } else if (unit === colon && (fields[depth] = (fields[depth] as number) + 1) > fieldsMax) {
      return excess(
        depth > 1 ? named(text, field, key) : field,
        `an object with more than ${fieldsMax} fields`,
        `at most ${fieldsMax} fields in one object`,
      )
    }
    if (values > valuesMax)
      return excess(
        named(text, field, key),
        `JSON with more than ${valuesMax} values`,
        `at most ${valuesMax} values`,
      )
  }
  return null
}

/** The quote that ends the string at `start`, or -1. Every run of backslashes is looked at once. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1
    if (escapes % 2 === 0) return end
  }
  return -1
}

const keyCharsMax = 100

const named = (text: string, field: string, key: [number, number] | null): string =>
  key === null ? field : preview(text.slice(key[0], Math.min(key[1], key[0] + keyCharsMax * 2)), keyCharsMax)

const excess = (field: string, given: string, expected: string): Refusal => ({
  code: 'bad_input',
  field,
  given,
  expected,
})
