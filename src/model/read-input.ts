/**
 * Input from outside, read against a schema. `null` for a field that may be left out means that it was left
 * out: models write it so. What is wrong is a refusal in plain words, about the first field that is wrong.
 */
import type { z } from 'zod'
import { isRecord } from './json.ts'
import { findNearest } from './nearest.ts'
import { badInput, shorten, unknownField, type Refusal } from './refusal.ts'
import { describeRight, keysAt } from './validator-words.ts'

export function readInput<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
  prefix = '',
): { data: z.output<Schema> } | Refusal {
  const parsed = schema.safeParse(given)
  if (parsed.success) return { data: parsed.data }
  const lean = withoutNulls(given, parsed.error)
  const again = schema.safeParse(lean)
  return again.success ? { data: again.data } : describeProblem(again.error, lean, schema, prefix)
}

/** For schemas that must be awaited. */
export async function readInputAsync<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
): Promise<{ data: z.output<Schema> } | Refusal> {
  const parsed = await schema.safeParseAsync(given)
  if (parsed.success) return { data: parsed.data }
  const lean = withoutNulls(given, parsed.error)
  const again = await schema.safeParseAsync(lean)
  return again.success ? { data: again.data } : describeProblem(again.error, lean, schema, '')
}

/** Only where a null was found wrong: a schema may well take one. */
function withoutNulls(given: unknown, error: z.ZodError): unknown {
  const paths = error.issues.map(({ path }) => path).filter((path) => valueAt(given, path) === null)
  return paths.reduce(removeAt, given)
}

/** An item of a list cannot be left out, and what is no holder has no fields. */
function removeAt(value: unknown, [first, ...rest]: readonly PropertyKey[]): unknown {
  if (Array.isArray(value)) return value.map((one, at) => (at === first ? removeAt(one, rest) : one))
  if (!isRecord(value)) return value
  const { [String(first)]: inner, ...others } = value
  return rest.length === 0 ? others : { ...value, [String(first)]: removeAt(inner, rest) }
}

function describeProblem(error: z.ZodError, input: unknown, schema: z.ZodType, prefix: string): Refusal {
  const issue = pickIssue(error.issues, input, schema)
  if (issue.code === 'unrecognized_keys') {
    const key = String(issue.keys[0])
    const known = keysAt(schema, issue.path)
    return {
      code: 'bad_input',
      field: nameField(prefix, [...issue.path, key]),
      given: unknownField,
      expected: known.length === 0 ? 'there are no fields here' : findNearest(key, known),
    }
  }
  const field = nameField(prefix, issue.path)
  return badInput(field === '' ? 'input' : field, valueAt(input, issue.path), describeRight(issue))
}

/**
 * The first one; but a field that is missing because it was misspelt is told by what was written instead of it.
 */
function pickIssue(issues: readonly z.core.$ZodIssue[], input: unknown, schema: z.ZodType): z.core.$ZodIssue {
  const first = issues[0] as z.core.$ZodIssue
  if (valueAt(input, first.path) !== undefined) return first
  const missing = String(first.path.at(-1))
  const misspelt = issues.find(
    (issue) =>
      issue.code === 'unrecognized_keys' &&
      issue.path.length === first.path.length - 1 &&
      findNearest(String(issue.keys[0]), keysAt(schema, issue.path)).endsWith(` "${missing}"`),
  )
  return misspelt ?? first
}

const fieldPartsMax = 20
const fieldPartUnitsMax = 100

/** Names come from outside: each may be as long as a request, and there may be as many as it is deep. */
const nameField = (prefix: string, path: readonly PropertyKey[]): string =>
  [
    prefix,
    ...path.slice(0, fieldPartsMax).map((part) => shorten(String(part).slice(0, fieldPartUnitsMax * 2))),
  ]
    .filter((part) => part !== '')
    .join('.')

export function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const part of path)
    value =
      value !== null && typeof value === 'object' ? (value as Record<PropertyKey, unknown>)[part] : undefined
  return value
}
