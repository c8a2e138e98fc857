/** The thread that makes checkpoints while the log is used. It never waits for others, and they never for it. */
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { readPages, type Passed } from './checkpoints.ts'

const db = new DatabaseSync(workerData as string)
db.exec('pragma synchronous = full')
const pass = db.prepare('pragma wal_checkpoint(passive)')

function makePass(): Passed {
  try {
    return readPages(pass)
  } catch {
    // The disk is full or fails: whoever commits finds out and says so.
    return null
  }
}

parentPort?.on('message', (order: 'pass' | 'end') => {
  if (order === 'pass') return parentPort?.postMessage(makePass())
  db.close()
  parentPort?.close()
})
