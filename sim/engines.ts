/** `npm run sim:engines`: the same simulated plans on SQLite and on PostgreSQL, transaction by transaction. */
import { parseArgs } from 'node:util'
import { StoreUnavailable } from '../src/runtime/kernel/store-health.ts'
import { LinkFault } from '../src/store/postgres/link.ts'
import { startPostgres } from '../test/kits/postgres.ts'
import { compareEngines, type Compared } from './on-postgres.ts'
import { startProgress } from './progress.ts'

const seedsDefault = 200
const help = `npm run sim:engines -- [options]

  --seeds <n>   how many plans (default ${seedsDefault})
  --from <n>    the first seed (default 1)
  --help        this text

Each plan is simulated on SQLite. Then each of its transactions is run on PostgreSQL by the store of its node, in
the same order, and every fact that it read is compared; at the end the logs and views of all nodes.
The exit status is 1 if anything differs.`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: String(seedsDefault) },
    from: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})

const triesMax = 5
const isLost = (fault: unknown): boolean =>
  fault instanceof StoreUnavailable ||
  fault instanceof LinkFault ||
  (fault instanceof Error && fault.cause instanceof LinkFault)

/** A process that got no time for seconds loses its connection: that says nothing about a plan, which is repeated. */
async function compareOften(seed: number, url: string): Promise<Compared> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await compareEngines(seed, url)
    } catch (fault) {
      if (!isLost(fault) || tries === triesMax) throw fault
    }
  }
}

async function main(): Promise<void> {
  const [seeds, from] = [Number(values.seeds), Number(values.from)]
  const postgres = await startPostgres()
  if (postgres === null) throw new Error('PostgreSQL cannot be started on this machine')
  const sums = { works: 0, facts: 0, events: 0 }
  const progress = startProgress(seeds, 'plans')
  try {
    for (let seed = from; seed < from + seeds; seed += 1) {
      const { difference, ...counts } = await compareOften(seed, postgres.url)
      for (const name of ['works', 'facts', 'events'] as const) sums[name] += counts[name]
      progress.show(seed - from + 1, `${sums.works} transactions`)
      if (difference === null) continue
      process.exitCode = 1
      console.log(`seed ${seed}: ${difference}`)
    }
  } finally {
    progress.end()
    await postgres.stop()
  }
  console.log(
    `${seeds} plans from seed ${from}: ${sums.works} transactions, ${sums.facts} facts and ` +
      `${sums.events} events on both engines; ${process.exitCode === 1 ? 'NOT alike' : 'alike'} (${postgres.version})`,
  )
}

if (values.help) console.log(help)
else await main()
