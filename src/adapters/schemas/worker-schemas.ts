/**
 * `Schemas` in threads: a schema that takes too long or too much memory ends its thread, and nothing else.
 */
import { ownFile } from '../../own-files.ts'
import type { Schemas } from '../../runtime/kernel/ports.ts'
import { workerPool, type PoolOutcome } from '../../runtime/kernel/worker-pool.ts'
import { wordFindings, type SchemaFindings, type SchemaOrder } from './schema-findings.ts'

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
      const outcome = await pool.run({
        order: { schema: JSON.stringify(schema), output },
        owner,
        msMax,
        signal,
      })
      if (outcome.kind !== 'answer') return { kind: 'unfinished', why: explainUnfinished(outcome, msMax) }
      return wordFindings(outcome.value, schema)
    },
    threads: () => pool.threads(),
    close: () => pool.close(),
  }
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
