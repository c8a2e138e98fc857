/** One of the threads of `check.ts`: takes a job, answers with its verdict. */
import { parentPort } from 'node:worker_threads'
import { runJob, type Job } from './jobs.ts'

parentPort?.on('message', (job: Job) => {
  void runJob(job).then((verdict) => parentPort?.postMessage(verdict))
})
