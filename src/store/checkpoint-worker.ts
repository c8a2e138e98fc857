/** The thread that makes checkpoints while the log is used. It never waits for others. */
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { readPages, type Order, type Passed } from './checkpoints.ts'

const db = new DatabaseSync(workerData as string)
db.exec('pragma synchronous = full')
const look = db.prepare('pragma wal_checkpoint(noop)')
const pass = db.prepare('pragma wal_checkpoint(passive)')

function makePass(): Passed {
  try {
    return readPages(pass)
  } catch {
    // The disk is full or fails: whoever commits finds out and says so.
    return null
  }
}

/** The first commit after a whole pass begins the file again: one that changes nothing. */
function restart(): Passed {
  const done = makePass()
  if (done === null || done.checkpointed < done.log) return done
  try {
    const version = db.prepare('pragma user_version').get()?.['user_version']
    db.exec(`pragma user_version = ${String(version)}`)
    // Where somebody still reads what is older, it has grown instead.
    return readPages(look)
  } catch {
    return null
  }
}

parentPort?.on('message', (order: Order) => {
  if (order !== 'end') return parentPort?.postMessage(order === 'restart' ? restart() : makePass())
  db.close()
  parentPort?.close()
})
