/** What a schema found wrong, in plain words: the one place that knows how a validator says things. */
import { z } from 'zod'

const typeWords: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

/** What would be right, to follow "it must be". A message that the schema itself gives comes first. */
export function describeRight(issue: z.core.$ZodIssue): string {
  if (!/^(Invalid|Too|Unrecognized|Expected)\b/.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return typeWords[issue.expected] ?? `a value of type ${issue.expected}`
    case 'invalid_value':
      return issue.values.length === 1
        ? JSON.stringify(issue.values[0])
        : `one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
    case 'too_small':
      return describeLeast(issue.origin, Number(issue.minimum), issue.inclusive !== false)
    case 'too_big':
      return describeMost(issue.origin, Number(issue.maximum), issue.inclusive !== false)
    case 'invalid_format':
      return issue.format === 'url' ? 'a URL such as "http://127.0.0.1:11434/v1"' : describeFormat(issue)
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`
    case 'invalid_union': {
      const all = issue.errors.flatMap((branch) => branch.slice(0, 1).map(describeRight))
      return all.length === 0 ? 'something else' : [...new Set(all)].join(' or ')
    }
    case 'invalid_key':
    case 'invalid_element': {
      const [inner] = issue.issues
      return inner === undefined ? 'something else' : describeRight(inner)
    }
    case 'unrecognized_keys':
    case 'custom':
      return 'something else'
  }
}

function describeLeast(origin: string, least: number, inclusive: boolean): string {
  if (origin === 'string')
    return least <= 1 ? 'a text that is not empty' : `a text of at least ${least} characters`
  if (origin === 'array' || origin === 'set')
    return least <= 1 ? 'a list that is not empty' : `a list of at least ${least} items`
  return inclusive ? `at least ${least}` : `more than ${least}`
}

function describeMost(origin: string, most: number, inclusive: boolean): string {
  if (origin === 'string') return `a text of at most ${most} characters`
  if (origin === 'array' || origin === 'set') return `a list of at most ${most} items`
  return inclusive ? `at most ${most}` : `less than ${most}`
}

const describeFormat = ({ format, pattern }: { format: string; pattern?: string | undefined }): string =>
  format === 'regex' && pattern !== undefined
    ? `a text that fits ${pattern}`
    : `a text that is a valid ${format}`

/** The keys that a schema knows at a path. */
export const keysAt = (schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] => [
  ...new Set(keySetsAt(schema, path).flat()),
]

/** The same, each branch of a union by itself. */
export function keySetsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[][] {
  const bare = unwrap(schema)
  if (bare instanceof z.ZodUnion) return bare.options.flatMap((option) => keySetsAt(option, path))
  const [first, ...rest] = path
  if (first === undefined) return bare instanceof z.ZodObject ? [Object.keys(bare.shape)] : []
  if (bare instanceof z.ZodObject) {
    const field: z.core.$ZodType | undefined = bare.shape[String(first)]
    return field === undefined ? [] : keySetsAt(field, rest)
  }
  if (bare instanceof z.ZodRecord) return keySetsAt(bare.valueType, rest)
  if (bare instanceof z.ZodArray) return keySetsAt(bare.element, rest)
  return []
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
  )
    return unwrap(schema.unwrap())
  if (schema instanceof z.ZodPipe) return unwrap(schema.in)
  return schema
}
