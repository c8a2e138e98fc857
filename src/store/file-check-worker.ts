/** The thread that looks through a log's file while it is used. */
import { parentPort, workerData } from 'node:worker_threads'
import { checkTables } from './file-check.ts'

for (const checked of checkTables(workerData as string)) parentPort?.postMessage(checked)
