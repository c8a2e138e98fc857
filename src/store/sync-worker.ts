/** The thread that makes commits durable. It sleeps until it is asked, and waits for the disk and nobody else. */
import { fdatasyncSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { ended, type Synced, type SyncOrder } from './log-sync.ts'

const { handle, asked } = workerData as SyncOrder
const counts = new Int32Array(asked)
const answer = (done: Synced): void => parentPort?.postMessage(done)

function sync(): Synced {
  try {
    fdatasyncSync(handle)
    return 'synced'
  } catch (fault) {
    const { message, code } = fault as NodeJS.ErrnoException
    return { message, code }
  }
}

let seen = Atomics.load(counts, 0)
answer('started')
while (seen !== ended) {
  Atomics.wait(counts, 0, seen)
  seen = Atomics.load(counts, 0)
  if (seen !== ended) answer(sync())
}
