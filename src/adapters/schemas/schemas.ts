/**
 * `Schemas` in threads: a schema that takes too long or too much memory ends its thread, and nothing else.
 * Tests and the simulator check in their own thread. The validator itself is loaded nowhere else.
 */
import type { Json } from '../../model/json.ts'
import { badInput } from '../../model/refusal.ts'
import { ownFile } from '../../own-files.ts'
import type { SchemaCheck, Schemas } from '../../runtime/kernel/ports.ts'
import { workerPool, type PoolOutcome } from '../../runtime/kernel/worker-pool.ts'
import type { SchemaFindings, SchemaOrder } from './check-schema.ts'

const msMaxDefault = 2000
const heapMbMax = 128

export type WorkerSchemas = Schemas & { threads(): number; close(): Promise<void> }

export function workerSchemas({
  msMax = msMaxDefault,
  workersMax = 2,
}: { msMax?: number; workersMax?: number } = {}): WorkerSchemas {
  const pool = workerPool<SchemaOrder, never, SchemaFindings>({
    file: ownFile('adapters/schemas/schema-worker'),
    workersMax,
    queuedMax: 128,
    queuedPerOwnerMax: 32,
    heapMbMax,
  })
  return {
    async check(schema, output, { owner, signal }) {
      const order = { schema: JSON.stringify(schema), output }
      const outcome = await pool.run({ order, owner, msMax, signal })
      return outcome.kind === 'answer'
        ? toCheck(outcome.value, schema)
        : { kind: 'unfinished', why: explainUnfinished(outcome, msMax) }
    },
    threads: () => pool.threads(),
    close: () => pool.close(),
  }
}

/** No threads, no real time, and nothing that could not be run again. */
export const inlineSchemas: Schemas = {
  async check(schema, output, { signal }) {
    signal.throwIfAborted()
    const { checkSchema } = await import('./check-schema.ts')
    return toCheck(checkSchema({ schema: JSON.stringify(schema), output }), schema)
  },
}

function toCheck(findings: SchemaFindings, schema: Json): SchemaCheck {
  if ('output' in findings) return { kind: 'checked', problems: findings.output }
  const refusal = badInput('output_schema', schema, `a valid JSON Schema (${findings.schema})`)
  return { kind: 'refused', refusal }
}

function explainUnfinished(
  outcome: Exclude<PoolOutcome<SchemaFindings>, { kind: 'answer' }>,
  msMax: number,
): string {
  switch (outcome.kind) {
    case 'late':
      return `the check against the schema did not end within ${msMax} ms`
    case 'full':
      return 'too many other outputs wait to be checked against a schema'
    case 'broken':
      return `the check against the schema broke off (${outcome.why})`
  }
}
