/** `npm run sim`: plays seeds, one seed, one plan, or the planted bugs. */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import { BugSearch, bugNames, seedsKnown } from './find-bugs.ts'
import { makePlan } from './make-plan.ts'
import { Parts } from './parts.ts'
import { Plan } from './plan.ts'
import { play } from './play.ts'
import { runInPool } from './pool.ts'
import { startProgress } from './progress.ts'
import { shrink } from './shrink.ts'
import { renderSummary, type SeedResult } from './totals.ts'
import { renderTrace } from './trace.ts'
import type { Job } from './worker.ts'
import failuresKnown from './known-failures.json' with { type: 'json' }

const seedsDefault = 3000
const plansMax = 2000
const foundFile = new URL('found-bugs.json', import.meta.url)
const seedsPerJob = 10
/** Below this a run is a look, and need not have met every fault. */
const fullRun = 1000

const help = `npm run sim -- [options]

  --seeds <n>     how many seeds (default ${seedsDefault}), on two processes
  --from <n>      the first seed (default 1)
  --into <dir>    keeps what every 500 seeds came to in a directory, and plays only what is not there yet
  --seed <n>      one seed; with --trace as a timeline
  --plan <file>   one plan from a file; with --trace as a timeline
  --bugs          every planted bug until it is found, within ${plansMax} plans: first in the seed that
                  sim/found-bugs.json names
  --search        with --bugs: from seed 1 on, and writes what it found to sim/found-bugs.json
  --help          this text

A plan that fails is cut down and written to sim-failure-<seed>.json.
The exit status is 1 if a law was broken, a fault never happened or a planted bug was not found.`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: String(seedsDefault) },
    from: { type: 'string', default: '1' },
    into: { type: 'string' },
    seed: { type: 'string' },
    plan: { type: 'string' },
    trace: { type: 'boolean', default: false },
    bugs: { type: 'boolean', default: false },
    search: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

/** Open defects: each must fail as it is written down, and nothing else may. */
const known: readonly { seed: number; law: string }[] = failuresKnown

const say = (line: string): void => void process.stdout.write(`${line}\n`)

function parseWholeNumber(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name}: "${text}" is not a whole number`)
  return value
}

async function playOne(plan: Plan): Promise<boolean> {
  const verdict = await play(plan, null, values.trace)
  if (values.trace) for (const line of renderTrace(plan, verdict)) say(line)
  const seconds = (verdict.simulatedMs / 1000).toFixed(1)
  say(
    `${plan.kind}, ${plan.nodes} nodes, ${plan.faults.length} faults: ` +
      `${verdict.calls} calls, ${verdict.events} events, ${seconds} simulated seconds`,
  )
  say(`hash ${verdict.digest}`)
  say(verdict.failure ?? 'every law was kept')
  return verdict.failure === null
}

async function playMany(seeds: number, from: number): Promise<boolean> {
  const startedAt = systemClock.now()
  const parts = new Parts(from, seeds, values.into ?? null)
  const missing = parts.listMissing()
  const jobs = Array.from({ length: Math.ceil(missing.length / seedsPerJob) }, (_, index): Job => ({
    kind: 'seeds',
    seeds: missing.slice(index * seedsPerJob, (index + 1) * seedsPerJob),
  }))
  const progress = startProgress(missing.length, 'seeds')
  let [played, failedSoFar] = [0, 0]
  const next = (): Job | null => jobs.shift() ?? null
  await runInPool(next, (reply) => {
    if (reply.kind !== 'seeds') return
    for (const result of reply.results) {
      parts.add(result)
      played += 1
      if (result.failure === null) continue
      failedSoFar += 1
      // At once: a long run should not keep to itself what it found.
      say(`seed ${result.seed}: ${result.failure.split('\n')[0] ?? ''}`)
    }
    progress.show(played, `${failedSoFar} failed`)
  })
  progress.end()
  const totals = parts.sum()
  for (const line of renderSummary(totals, (systemClock.now() - startedAt) / 1000)) say(line)
  const never = seeds < fullRun ? [] : totals.missing()
  if (never.length > 0) say(`never happened: ${never.join(', ')}`)
  const failed = totals.failures.toSorted((a, b) => a.seed - b.seed)
  const failures = failed.filter((result) => !isKnown(result))
  const stale = listStale(failed, from, seeds)
  if (failures[0] !== undefined) await writeFailure(failures[0])
  if (stale.length > 0) say(`no longer fail, so take them from sim/known-failures.json: ${stale.join(', ')}`)
  const knownCount = failed.length - failures.length
  if (knownCount > 0) say(`${knownCount} seeds fail as sim/known-failures.json says: open defects`)
  say(failures.length === 0 ? 'every other law was kept' : `${failures.length} seeds failed`)
  return failures.length === 0 && never.length === 0 && stale.length === 0
}

const isKnown = ({ seed, failure }: SeedResult): boolean =>
  known.some((one) => one.seed === seed && failure?.startsWith(`${one.law}:`) === true)

const listStale = (failed: readonly SeedResult[], from: number, seeds: number): number[] =>
  known
    .map(({ seed }) => seed)
    .filter((seed) => seed >= from && seed < from + seeds && !failed.some((result) => result.seed === seed))

async function writeFailure({ seed, failure }: SeedResult): Promise<void> {
  const { plan, plays } = await shrink(makePlan(seed), failure ?? '', null)
  const file = `sim-failure-${seed}.json`
  writeFileSync(file, `${JSON.stringify(plan, null, 1)}\n`)
  say(`cut down in ${plays} plays: npm run sim -- --plan ${file} --trace`)
}

async function findBugs(): Promise<boolean> {
  const known = (name: string): number | null => (values.search ? null : (seedsKnown[name] ?? null))
  const searches = new Map(bugNames.map((name) => [name, new BugSearch(name, plansMax, known(name))]))
  const progress = startProgress(bugNames.length, 'bugs')
  let turns = [...searches.values()]
  await runInPool(
    () => {
      // Each in turn, so that what is found soon is not kept waiting by what takes long.
      for (let search = turns.shift(); search !== undefined; search = turns.shift()) {
        const job = search.take()
        if (job === null) continue
        turns.push(search)
        return job
      }
      return null
    },
    (reply) => {
      if (reply.kind === 'bug') searches.get(reply.job.name)?.hear(reply)
      const over = [...searches.values()].filter(({ isOver }) => isOver)
      turns = turns.filter((search) => !over.includes(search))
      progress.show(over.length, '')
    },
  )
  progress.end()
  const found = [...searches.values()].map((search) => search.found)
  say('| planted bug | law | plans | seed | what it takes away |\n| --- | --- | ---: | ---: | --- |')
  for (const { name, law, says, seed, plans } of found)
    say(`| ${name} | ${law} | ${plans === 0 ? 'known' : plans} | ${seed ?? 'not found'} | ${says} |`)
  const seeds = Object.fromEntries(found.map(({ name, seed }) => [name, seed]))
  if (found.some(({ seed }) => seed === null)) return false
  if (values.search) writeFileSync(foundFile, `${JSON.stringify(seeds, null, 2)}\n`)
  else if (found.some(({ plans }) => plans > 0))
    say('Some no longer show in the seed that sim/found-bugs.json names: npm run sim -- --bugs --search')
  return true
}

async function main(): Promise<boolean> {
  if (values.help) return (say(help), true)
  if (values.plan !== undefined) return playOne(Plan.parse(JSON.parse(readFileSync(values.plan, 'utf8'))))
  if (values.seed !== undefined) return playOne(makePlan(parseWholeNumber('seed', values.seed)))
  return values.bugs
    ? findBugs()
    : playMany(parseWholeNumber('seeds', values.seeds), parseWholeNumber('from', values.from))
}

process.exitCode = (await main()) ? 0 : 1
