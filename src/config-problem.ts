/** What is wrong in a configuration file, in words: where, what was given, what is right. */
import { z } from 'zod'
import { findNearest } from './model/nearest.ts'

/**
 * Values below these keys may be secrets that somebody put into the wrong place, so they are never repeated.
 */
const secretKeys: ReadonlySet<PropertyKey> = new Set(['apiKeyEnv', 'env', 'headers', 'args'])

export const keyPath = (path: readonly PropertyKey[]): string =>
  path
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at === 0 ? '' : '.'}${String(part)}`))
    .join('')

export const problem = (path: readonly PropertyKey[], given: unknown, right: string): string =>
  `${keyPath(path)}: ${path.some((part) => secretKeys.has(part)) ? 'what was given is not right' : `${shown(given)} was given`}, but ${right} is needed.`

/** Every problem that the schema found, one line each. */
export function findConfigProblems(
  error: z.ZodError,
  schema: z.ZodType,
  input: unknown,
  prefix: readonly PropertyKey[],
): string[] {
  return error.issues.flatMap((issue) => problemsOfIssue(issue, schema, input, prefix))
}

function problemsOfIssue(
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  input: unknown,
  prefix: readonly PropertyKey[],
): string[] {
  const path = [...prefix, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, issue.path)
    return issue.keys.map((key) => `${keyPath([...path, key])}: unknown key; ${findNearest(key, known)}.`)
  }
  if (issue.code === 'invalid_union') {
    const branch = bestBranch(issue.errors)
    const nested = branch?.some((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys')
    if (branch !== undefined && nested === true)
      return branch.flatMap((inner) =>
        problemsOfIssue({ ...inner, path: [...issue.path, ...inner.path] }, schema, input, prefix),
      )
    return [
      problem(
        path,
        valueAt(input, issue.path),
        [...new Set(issue.errors.flatMap((inner) => inner.map(rightOf)))].join(' or '),
      ),
    ]
  }
  if (issue.code === 'invalid_key')
    return [
      `${keyPath(path)}: this name is not right: ${issue.issues[0]?.message ?? issue.message} are needed.`,
    ]
  return [problem(path, valueAt(input, issue.path), rightOf(issue))]
}

/** The branch of a union that its author most likely meant: the one with the fewest wrong keys. */
function bestBranch(branches: readonly z.core.$ZodIssue[][]): z.core.$ZodIssue[] | undefined {
  const cost = (branch: z.core.$ZodIssue[]): number =>
    branch.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0)
  return branches.toSorted((a, b) => cost(a) - cost(b))[0]
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table',
  record: 'a table',
}

function rightOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeWords[issue.expected] ?? `a value of type ${issue.expected}`
    case 'invalid_value':
      return issue.values.length === 1
        ? JSON.stringify(issue.values[0])
        : `one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
    case 'too_small':
      return issue.origin === 'string' || issue.origin === 'array'
        ? 'something that is not empty'
        : `at least ${issue.minimum}`
    case 'too_big':
      return `at most ${issue.maximum}`
    case 'invalid_format':
      return issue.format === 'url' ? 'a URL such as "http://127.0.0.1:11434/v1"' : issue.message
    case 'not_multiple_of':
    case 'invalid_key':
    case 'invalid_element':
    case 'invalid_union':
    case 'unrecognized_keys':
    case 'custom':
      return issue.message
  }
}

/** The keys that the schema knows at a path. */
function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const bare = unwrap(schema)
  if (bare instanceof z.ZodUnion) return [...new Set(bare.options.flatMap((option) => keysAt(option, path)))]
  const [first, ...rest] = path
  if (first === undefined) return bare instanceof z.ZodObject ? Object.keys(bare.shape) : []
  if (bare instanceof z.ZodObject) {
    const field: z.core.$ZodType | undefined = bare.shape[String(first)]
    return field === undefined ? [] : keysAt(field, rest)
  }
  if (bare instanceof z.ZodRecord) return keysAt(bare.valueType, rest)
  if (bare instanceof z.ZodArray) return keysAt(bare.element, rest)
  return []
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return unwrap(schema.unwrap())
  if (schema instanceof z.ZodPipe) return unwrap(schema.in)
  return schema
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const part of path)
    value =
      value !== null && typeof value === 'object' ? (value as Record<PropertyKey, unknown>)[part] : undefined
  return value
}

function shown(given: unknown): string {
  if (given === undefined) return 'nothing'
  if (given === '') return 'an empty text'
  const text = JSON.stringify(given) ?? typeof given
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
