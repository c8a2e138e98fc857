/**
 * What a JSON Schema from outside says about an output.
 * A schema can make this take for ever: a pattern that backtracks, alternatives inside a reference to itself,
 * unique items. So it runs in a thread with a deadline.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { faultMessage } from '../../model/contained.ts'
import { preview } from '../../model/text.ts'

const problemsShownMax = 5
const problemPointsMax = 300

/** `output` null: only whether the schema is one. */
export type SchemaOrder = { schema: string; output: string | null }
/** `schema`: why it is no schema. `output`: what of the output does not satisfy it; empty if nothing. */
export type SchemaFindings = { schema: string } | { output: string[] }

/** A call asks up to three times for the same schema. */
const keptMax = 4
const kept = new Map<string, ValidateFunction>()

export function checkSchema({ schema, output }: SchemaOrder): SchemaFindings {
  let validate: ValidateFunction
  try {
    validate = kept.get(schema) ?? compile(schema)
  } catch (error) {
    return { schema: preview(faultMessage(error), problemPointsMax) }
  }
  kept.delete(schema)
  kept.set(schema, validate)
  if (kept.size > keptMax) kept.delete(kept.keys().next().value ?? '')
  return { output: output === null ? [] : problemsIn(validate, output) }
}

function compile(schema: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false, validateSchema: true })
  const validate = ajv.compile(JSON.parse(schema) as object)
  // It would answer with a promise, which looks like success, and reject with nobody there to handle it.
  if ('$async' in validate) throw new Error('$async is not supported')
  return validate
}

function problemsIn(validate: ValidateFunction, output: string): string[] {
  let value: unknown
  try {
    value = JSON.parse(unfence(output.trim()))
  } catch {
    // A problem that the child reads.
    return ['the output is not JSON']
  }
  return validate(value) ? [] : (validate.errors ?? []).slice(0, problemsShownMax).map(describe)
}

const describe = ({ instancePath, message }: ErrorObject): string =>
  preview(`${instancePath === '' ? 'the output' : instancePath} ${message ?? 'is wrong'}`, problemPointsMax)

/**
 * Models like to fence JSON; the fence is not part of the answer. Cut by hand: a pattern for this can take
 * minutes on hostile text.
 */
function unfence(text: string): string {
  const start = text.indexOf('\n')
  const end = text.lastIndexOf('```')
  return text.startsWith('```') && start > 0 && end > start ? text.slice(start + 1, end) : text
}
