/** Both engines are asked the same by the same plans; `npm run sim:engines` does it with as many as you like. */
import { afterAll, expect, test } from 'vitest'
import { compareEngines } from '../../sim/on-postgres.ts'
import { startPostgres } from '../kits/postgres.ts'

const postgres = await startPostgres()
afterAll(() => postgres?.stop())

/** Set it to 2000 to be more certain. */
const plans = Number(process.env['TIELINE_ENGINE_PLANS'] ?? 12)

test.skipIf(postgres === null)(
  'R1: the transactions of simulated plans read the same facts on SQLite and on PostgreSQL',
  { timeout: 3_600_000 },
  async () => {
    let facts = 0
    for (let seed = 1; seed <= plans; seed += 1) {
      const compared = await compareEngines(seed, postgres?.url ?? '')
      expect({ seed, difference: compared.difference }).toEqual({ seed, difference: null })
      facts += compared.facts
    }
    expect(facts).toBeGreaterThan(plans * 20)
  },
)
