import { afterAll, describe } from 'vitest'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { storeContract } from '../store-contract.ts'
import { postgresStore } from './postgres.ts'

const postgres = await startPostgres()
afterAll(() => postgres?.stop())

let schemas = 0
const nextSchema = (): string => `test_${(schemas += 1)}`

describe.skipIf(postgres === null)('PostgreSQL', () => {
  storeContract('the PostgreSQL store', async (clock) => {
    const store = await postgresStore({
      url: postgres?.url ?? '',
      directory: ':memory:',
      schema: nextSchema(),
      now: clock.now,
      elapsed: systemClock.elapsed,
      sleep: systemClock.sleep,
      databaseTime: false,
    })
    return { store, close: () => store.close(), durable: null }
  })
})
