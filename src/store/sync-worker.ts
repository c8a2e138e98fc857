/** The thread that makes commits durable. It sleeps until it is asked, and waits for the disk and nobody else. */
import { fdatasyncSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { askedAt, doneAt, ended, toldAt, type SyncOrder, type SyncWord } from './log-sync.ts'

const { handle, counters } = workerData as SyncOrder
const counts = new Int32Array(counters)
const say = (word: SyncWord): void => parentPort?.postMessage(word)

function sync(of: number): void {
  try {
    fdatasyncSync(handle)
  } catch (fault) {
    const { message, code } = fault as NodeJS.ErrnoException
    return say({ of, fault: { message, code } })
  }
  Atomics.store(counts, doneAt, of)
  Atomics.notify(counts, doneAt)
  if (Atomics.load(counts, toldAt) === of) say({ of, fault: null })
}

let seen = Atomics.load(counts, askedAt)
say('started')
while (seen !== ended) {
  Atomics.wait(counts, askedAt, seen)
  seen = Atomics.load(counts, askedAt)
  if (seen !== ended) sync(seen)
}
