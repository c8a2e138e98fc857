/** Moves all that may leave a log, one flow in each segment, until it is done or killed. Says each that was moved. */
import { sqliteStore } from '../../src/store/sqlite.ts'

const [directory = ''] = process.argv.slice(2)
const store = sqliteStore({ directory, now: Date.now })
const now = Date.now()
const ask = { endedBefore: now + 1, now, unitsPerSegment: 1 }
await store.archive?.({ ...ask, onProgress: (flows) => process.stdout.write(`${flows}\n`) })
await store.close()
console.log('finished')
