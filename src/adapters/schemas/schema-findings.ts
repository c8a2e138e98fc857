/**
 * What goes to the thread that checks schemas, and what comes back. Apart from the check itself, so that the
 * main thread does not load the validator.
 */
import type { Json } from '../../model/json.ts'
import { badInput } from '../../model/refusal.ts'
import type { SchemaCheck } from '../../runtime/kernel/ports.ts'

/** `output` null: only whether the schema is one. */
export type SchemaOrder = { schema: string; output: string | null }
/** `schema`: why it is no schema. `output`: what of the output does not satisfy it; empty if nothing. */
export type SchemaFindings = { schema: string } | { output: string[] }

export const wordFindings = (findings: SchemaFindings, schema: Json): SchemaCheck =>
  'output' in findings
    ? { kind: 'checked', problems: findings.output }
    : {
        kind: 'refused',
        refusal: badInput('output_schema', schema, `a valid JSON Schema (${findings.schema})`),
      }
