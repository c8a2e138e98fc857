import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { clocks, nextSchema } from '../../../test/kits/cluster.ts'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { storeContract } from '../store-contract.ts'
import { postgresStore } from './postgres.ts'

const postgres = await startPostgres()
afterAll(() => postgres?.stop())

describe.skipIf(postgres === null)('PostgreSQL', () => {
  // The views are made anew for each test: in memory that takes a fifth of the time.
  const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  storeContract('the PostgreSQL store', async (clock) => {
    const directory = mkdtempSync(join(memory, 'tieline-node-'))
    const store = await postgresStore({
      url: postgres?.url ?? '',
      directory,
      schema: nextSchema(),
      ...clocks,
      now: clock.now,
      databaseTime: false,
    })
    return {
      store,
      durable: null,
      async close() {
        await store.close()
        rmSync(directory, { recursive: true, force: true })
      },
    }
  })
})
