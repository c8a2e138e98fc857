/** `npm run chaos`: a cluster of real processes under faults from a seed, and what its log says afterwards. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { readNumber, showProgress } from '../hostile/long-run.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import { faults } from './faults.ts'
import type { Line } from './judge.ts'
import { disrupt, judge, prepare, type Chaos } from './run.ts'

const secondsDefault = 120
const secondsShort = 60
const clientsDefault = 6
const clientsShort = 3

const help = `npm run chaos -- [options]

Starts three nodes on one PostgreSQL, lets clients work at all of them, and breaks things meanwhile: it kills,
stops and freezes nodes, kills, restarts and moves the database, fills its disk, and cuts, delays, freezes and
unplugs connections. Then it checks what each client was told against the log.

  --seconds <n>   how long faults go on (default ${secondsDefault})
  --short         the same as --seconds ${secondsShort} --clients ${clientsShort}, for CI
  --clients <n>   how many work at once (default ${clientsDefault})
  --seed <n>      which faults come when; otherwise drawn, and printed
  --only <fault>  only this fault; may be given several times
  --failed        the seeds that failed before, one after the other
  --keep          leave the directory with the log and what clients were told, and say where it is
  --json          the result as JSON on stdout
  --help          this text

Faults: ${faults.map(({ name }) => name).join(', ')}.
Starting takes some ten seconds, and what was begun has its time to end afterwards.
A seed that fails is kept in chaos/failed-seeds.json. Real processes do not run the same way twice: a seed gives
the same faults in the same order, and not the same moments.
Progress is on stderr. The exit status is 1 if a law was broken.`

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    short: { type: 'boolean', default: false },
    clients: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string', multiple: true },
    failed: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const failedFile = fileURLToPath(new URL('./failed-seeds.json', import.meta.url))
type Failed = { seed: number; seconds: number; laws: string[] }
const readFailed = (): Failed[] =>
  existsSync(failedFile) ? (JSON.parse(readFileSync(failedFile, 'utf8')) as Failed[]) : []

function chosen(): string[] {
  const unknown = values.only?.find((name) => !faults.some((fault) => fault.name === name))
  if (unknown !== undefined)
    throw new Error(
      `--only: there is no fault "${unknown}"; there are ${faults.map(({ name }) => name).join(', ')}`,
    )
  return values.only ?? []
}

function statusOf({ begunAt, plan, history, done, doing }: Chaos): string {
  const seconds = begunAt === 0 ? 0 : Math.round((systemClock.elapsed() - begunAt) / 1000)
  const hits = [...done.values()].reduce((a, b) => a + b, 0)
  return [
    `${seconds}/${plan.seconds} s`,
    `${history.acts.filter(({ told }) => told !== null).length} acts`,
    `${history.retries} retries`,
    `${hits} faults`,
    doing.length === 0 ? 'calm' : doing.join(' and '),
  ].join('  ')
}

const shownMax = 8

function lineText({ law, tried, problems }: Line): string {
  const verdict = problems.length === 0 ? 'kept  ' : 'BROKEN'
  const more = problems.slice(0, shownMax).map((problem) => `                  ${problem}`)
  if (problems.length > shownMax) more.push(`                  … and ${problems.length - shownMax} more`)
  return [`${verdict}  ${String(tried).padStart(8)}  ${law}`, ...more].join('\n')
}

function faultLines({ done, world, history }: Chaos): string[] {
  const rows = faults.map(
    (fault) =>
      `${String(done.get(fault.name) ?? 0).padStart(8)}  ${fault.name}` +
      (fault.isPossible(world) ? '' : ' (not possible on this machine)'),
  )
  const show = (list: readonly number[], when: string): string[] =>
    list.length === 0
      ? []
      : [`after the database was back${when}, an act was acknowledged within ${toOrder(list)} ms`]
  const back = [
    ...show(history.recoveredMs, ''),
    ...show(history.recoveredBusyMs, ' without a node or a machine that could (not judged)'),
  ]
  return ['   times  fault', ...rows, ...back]
}

const toOrder = (list: readonly number[]): string => list.toSorted((a, b) => a - b).join(', ')

/** True if every law was kept. */
async function runSeed(seed: number, seconds: number): Promise<boolean> {
  const clients = readNumber('clients', values.clients, values.short ? clientsShort : clientsDefault)
  const chaos = await prepare({ seed, seconds, clients, only: chosen() })
  process.stderr.write(`seed ${seed}, ${seconds} s\n`)
  const hide = showProgress(() => statusOf(chaos))
  let keep = values.keep
  try {
    const lines = await judge(chaos, await disrupt(chaos))
    hide()
    const broken = lines.filter(({ problems }) => problems.length > 0)
    keep ||= broken.length > 0
    const { acts, retries } = chaos.history
    if (values.json)
      console.log(JSON.stringify({ seed, seconds, lines, faults: Object.fromEntries(chaos.done) }, null, 2))
    else
      console.log(
        [
          ...faultLines(chaos),
          '',
          `           tried  law (${acts.length} acts, ${retries} retries)`,
          ...lines.map(lineText),
          '',
          `seed ${seed}${keep ? `, log and history in ${chaos.directory}` : ''}`,
        ].join('\n'),
      )
    if (broken.length > 0) keepSeed({ seed, seconds, laws: broken.map(({ law }) => law) })
    return broken.length === 0
  } finally {
    hide()
    await chaos.close(keep)
  }
}

function keepSeed(failed: Failed): void {
  const others = readFailed().filter(({ seed }) => seed !== failed.seed)
  writeFileSync(failedFile, `${JSON.stringify([...others, failed], null, 2)}\n`)
}

async function main(): Promise<void> {
  if (values.failed) {
    const seeds = readFailed()
    if (seeds.length === 0) console.log('No seed has failed.')
    for (const { seed, seconds } of seeds) if (!(await runSeed(seed, seconds))) process.exitCode = 1
    return
  }
  const seed = readNumber(
    'seed',
    values.seed,
    (process.pid * 7919 + Math.floor(systemClock.now())) % 1_000_000,
  )
  const seconds = readNumber('seconds', values.seconds, values.short ? secondsShort : secondsDefault)
  if (!(await runSeed(seed, seconds))) process.exitCode = 1
}

if (values.help) console.log(help)
else await main()
