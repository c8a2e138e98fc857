/**
 * `Schemas` in the thread of the caller, for tests and the simulator: no threads, no real time, and nothing
 * that could not be run again.
 */
import type { Schemas } from '../../runtime/kernel/ports.ts'
import { wordFindings } from './schema-findings.ts'

export const inlineSchemas: Schemas = {
  async check(schema, output, { signal }) {
    signal.throwIfAborted()
    const { checkSchema } = await import('./check-schema.ts')
    return wordFindings(checkSchema({ schema: JSON.stringify(schema), output }), schema)
  },
}
