/**
 * `npm run proof`: every configuration of safety in TLA+, every case of our own checker with liveness, the
 * two in lockstep, and the model against the real store.
 */
import { Worker } from 'node:worker_threads'
import { allJobs, type Job, type Verdict } from './jobs.ts'

const workers = 2

async function checkAll(jobs: readonly Job[]): Promise<Verdict[]> {
  const left = [...jobs]
  const verdicts: Verdict[] = []
  await Promise.all(
    Array.from(
      { length: workers },
      () =>
        new Promise<void>((done, fail) => {
          const worker = new Worker(new URL('worker.ts', import.meta.url))
          const next = (): void => {
            const job = left.shift()
            if (job === undefined) void worker.terminate().then(() => done())
            else worker.postMessage(job)
          }
          worker.on('message', (verdict: Verdict) => {
            verdicts.push(verdict)
            showProgress(verdicts.length, jobs.length, verdict)
            next()
          })
          worker.on('error', fail)
          next()
        }),
    ),
  )
  showProgress(jobs.length, jobs.length, null)
  return verdicts
}

function showProgress(done: number, all: number, last: Verdict | null): void {
  if (!process.stderr.isTTY) return
  const width = 30
  const full = Math.round((done / all) * width)
  process.stderr.write(
    last === null
      ? '\r\u001b[K'
      : `\r\u001b[K[${'#'.repeat(full)}${'.'.repeat(width - full)}] ${done}/${all} ${last.job.kind} ${last.job.name}`,
  )
}

function renderTable(verdicts: readonly Verdict[]): string {
  const order = allJobs().toSorted((a, b) => a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name))
  const rows = order.flatMap((job) =>
    verdicts.filter((verdict) => verdict.job.kind === job.kind && verdict.job.name === job.name),
  )
  return rows.map(renderRow).join('\n')
}

function renderRow({ job, ok, states, said, seconds, note }: Verdict): string {
  const what = `${ok ? 'ok ' : 'BAD'} ${job.kind.padEnd(10)} ${job.name.padEnd(36)}`
  const size = `${String(states).padStart(7)} states ${seconds.toFixed(1).padStart(6)} s`
  return `${what} ${size}  ${said}${ok ? '' : `\n    ${note}`}`
}

const began = process.uptime()
const wanted = process.argv.slice(2)
const jobs = allJobs().filter(
  ({ kind, name }) => wanted.length === 0 || wanted.includes(name) || wanted.includes(kind),
)
const verdicts = await checkAll(jobs)
const wrong = verdicts.filter(({ ok }) => !ok).length
const states = verdicts.reduce((sum, verdict) => sum + verdict.states, 0)
console.log(renderTable(verdicts))
const summary = wrong === 0 ? 'All as expected' : `${wrong} not as expected`
const seconds = (process.uptime() - began).toFixed(0)
console.log(`\n${summary}: ${verdicts.length} checks, ${states} states, ${seconds} s on ${workers} threads.`)
process.exitCode = wrong === 0 ? 0 : 1
