/** A worker process: plays what it is given and says what became of it. */
import { tryBug, type BugJob, type BugReply } from './find-bugs.ts'
import { makePlan } from './make-plan.ts'
import { play } from './play.ts'
import { makeSeedResult, type SeedResult } from './totals.ts'

export type Job = { kind: 'seeds'; seeds: readonly number[] } | BugJob
export type Reply = { kind: 'seeds'; results: SeedResult[] } | BugReply

async function work(job: Job): Promise<Reply> {
  if (job.kind === 'bug') return tryBug(job)
  const results: SeedResult[] = []
  for (const seed of job.seeds) results.push(makeSeedResult(seed, await play(makePlan(seed))))
  return { kind: 'seeds', results }
}

process.on('message', (job: Job) => {
  void work(job).then((reply) => process.send?.(reply))
})
