/**
 * What a JSON Schema from outside says about an output.
 * A schema can make this take for ever: a pattern that backtracks, alternatives inside a reference to itself,
 * unique items. So it runs in a thread with a deadline.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { preview } from '../../model/text.ts'
import type { SchemaFindings, SchemaOrder } from './schema-findings.ts'

const problemsShownMax = 5
const problemPointsMax = 300

/** A call asks up to three times for the same schema. */
const keptMax = 4
const kept = new Map<string, ValidateFunction>()

export function checkSchema({ schema, output }: SchemaOrder): SchemaFindings {
  let validate: ValidateFunction
  try {
    validate = kept.get(schema) ?? compile(schema)
  } catch (error) {
    return { schema: preview(error instanceof Error ? error.message : String(error), problemPointsMax) }
  }
  kept.delete(schema)
  kept.set(schema, validate)
  if (kept.size > keptMax) kept.delete(kept.keys().next().value ?? '')
  return { output: output === null ? [] : problemsIn(validate, output) }
}

function compile(schema: string): ValidateFunction {
  const validate = new Ajv2020({
    strict: false,
    allErrors: true,
    logger: false,
    validateSchema: true,
  }).compile(JSON.parse(schema) as object)
  // It would answer with a promise, which looks like a yes, and reject with nobody there to hear it.
  if ('$async' in validate) throw new Error('$async is not supported')
  return validate
}

function problemsIn(validate: ValidateFunction, output: string): string[] {
  const parsed = parse(output)
  if (!parsed.ok) return ['the output is not JSON']
  return validate(parsed.value) ? [] : (validate.errors ?? []).slice(0, problemsShownMax).map(describe)
}

const describe = ({ instancePath, message }: ErrorObject): string =>
  preview(`${instancePath === '' ? 'the output' : instancePath} ${message ?? 'is wrong'}`, problemPointsMax)

/**
 * Models like to fence JSON; the fence is not part of the answer. Cut by hand: a pattern for this can take
 * minutes on hostile text.
 */
function unfenced(text: string): string {
  const start = text.indexOf('\n')
  const end = text.lastIndexOf('```')
  return text.startsWith('```') && start > 0 && end > start ? text.slice(start + 1, end) : text
}

function parse(output: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(unfenced(output.trim())) }
  } catch {
    // Not JSON is an answer of its own here: it becomes a problem that the child reads.
    return { ok: false }
  }
}
