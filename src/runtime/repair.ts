/** `output_schema`: the output must satisfy it. One repair attempt in the same turn, then `output_invalid`. */
import type { ErrorObject } from 'ajv/dist/2020.js'
import type { Json } from '../model/json.ts'
import { explain } from '../model/refusal.ts'
import type { TurnInput, TurnOutcome } from './ports.ts'
import type { Running } from './running.ts'

type Again = (input: TurnInput) => Pick<TurnInput, 'prompt' | 'attempt'>

export async function repaired(running: Running, first: TurnOutcome, run: (again: Again) => Promise<TurnOutcome>): Promise<TurnOutcome> {
  const schema = running.input.type === 'call.opened' ? running.input.outputSchema : null
  if (schema === null || first.outcome !== 'completed') return first
  const problems = await problemsOf(schema, first.output)
  if (problems.length === 0) return first
  const second = await run((input) => ({
    attempt: 2,
    prompt: `${input.prompt}\n\nYour last answer was:\n${first.output}\n\nIt must be JSON that satisfies this schema, and nothing else:\n${JSON.stringify(schema)}\nProblems: ${problems.join('; ')}`,
  }))
  if (second.outcome !== 'completed') return second
  const left = await problemsOf(schema, second.output)
  return left.length === 0 ? second : { ...second, outcome: 'failed', error: `output_invalid: ${explain({ code: 'output_invalid', problems: left })}` }
}

/** Why `schema` is no JSON Schema; null if it is one. Checked before a call opens. */
export async function schemaProblem(schema: Json): Promise<string | null> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 'a JSON Schema object'
  try {
    await compile(schema)
    return null
  } catch (error) {
    return `a valid JSON Schema (${(error as Error).message})`
  }
}

/** The validator is loaded when the first schema is given: most runs have none. */
async function compile(schema: object) {
  const { Ajv2020 } = await import('ajv/dist/2020.js')
  return new Ajv2020({ strict: false, allErrors: true, logger: false, validateSchema: true }).compile(schema)
}

export async function problemsOf(schema: Json, output: string): Promise<string[]> {
  const parsed = parse(output)
  if (!parsed.ok) return ['the output is not JSON']
  const validate = await compile(schema as object)
  return validate(parsed.value) ? [] : (validate.errors ?? []).slice(0, 5).map(wording)
}

const wording = (error: ErrorObject): string => `${error.instancePath === '' ? 'the output' : error.instancePath} ${error.message ?? 'is wrong'}`

/** Models like to fence JSON; the fence is not part of the answer. Cut by hand: a pattern for this can take minutes on hostile text. */
function unfenced(text: string): string {
  const start = text.indexOf('\n')
  const end = text.lastIndexOf('```')
  return text.startsWith('```') && start > 0 && end > start ? text.slice(start + 1, end) : text
}

function parse(output: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(unfenced(output.trim())) }
  } catch {
    // Not JSON is an answer of its own here: it becomes a problem that the child is told.
    return { ok: false }
  }
}
