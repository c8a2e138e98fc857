import { sqliteStore } from './sqlite.ts'
import { storeContract } from './store-contract.ts'

storeContract('the SQLite store in memory', async (clock) => {
  const store = sqliteStore({ directory: ':memory:', now: clock.now })
  return { store, close: () => store.close(), durable: null }
})
