/**
 * The same on PostgreSQL: every transaction of a simulated plan, in the same order, each by the store of its own
 * node. Decisions are functions of facts, so where all facts are the same, so are the decisions.
 */
import type { Store } from '../src/runtime/kernel/store-port.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import { connect } from '../src/store/postgres/link.ts'
import { postgresStore, type PostgresStore } from '../src/store/postgres/postgres.ts'
import { viewsEqual } from '../src/store/rebuild.ts'
import { makePlan } from './make-plan.ts'
import type { Plan } from './plan.ts'
import { play } from './play.ts'
import { Recorder, renderFact, type LogLine, type Work } from './record-works.ts'

export type Compared = { works: number; facts: number; events: number; difference: string | null }

/** Plans whose disk breaks are about SQLite: here it does not. */
const withoutDisk = (plan: Plan): Plan => ({
  ...plan,
  faults: plan.faults.filter(({ kind }) => kind !== 'disk'),
})

export async function compareEngines(seed: number, url: string): Promise<Compared> {
  const plan = withoutDisk(makePlan(seed))
  const recorder = new Recorder()
  const { failure, events } = await play(plan, null, false, recorder)
  const compared: Compared = { works: 0, facts: 0, events, difference: failure }
  if (failure !== null) return compared
  const schema = `sim_${seed}`
  let now = recorder.done[0]?.now ?? 0
  const clocks = {
    now: () => now,
    elapsed: () => systemClock.elapsed(),
    sleep: (ms: number) => systemClock.sleep(ms),
  }
  const stores: PostgresStore[] = []
  const link = await connect({ url })
  const clear = (): Promise<unknown> => link.run(`drop schema if exists ${schema} cascade`)
  try {
    await clear()
    for (let n = 0; n < plan.nodes; n += 1)
      stores.push(await postgresStore({ url, directory: ':memory:', schema, databaseTime: false, ...clocks }))
    const setNow = (at: number): void => void (now = at)
    await write(stores[0] as PostgresStore, recorder.before, setNow)
    for (const one of recorder.done) {
      setNow(one.now)
      const store = stores[one.host] as PostgresStore
      if (one.kind === 'beat') await store.heartbeat(one.node, one.ttlMs)
      else {
        compared.works += 1
        compared.facts += one.facts.length
        compared.difference ??= await repeat(store, one)
      }
      if (compared.difference !== null) return compared
    }
    compared.difference = await compareLogs(stores, recorder.after)
    return compared
  } finally {
    for (const store of stores) await store.close()
    await clear()
    link.close()
  }
}

async function write(store: Store, lines: readonly LogLine[], setNow: (at: number) => void): Promise<void> {
  for (const { at, events } of lines) {
    setNow(at)
    const parsed = JSON.parse(events) as Work['events']
    const keys = parsed.map(({ session }) => `session:${session}` as const)
    await store.transact(keys, async (tx) => tx.append(...parsed))
  }
}

/** What is different, or null. */
function repeat(store: Store, { keys, facts, events, now }: Work): Promise<string | null> {
  return store.transact(keys, async (tx) => {
    if (tx.now !== now) return `the time is ${tx.now}, and was ${now}`
    const readers = tx as unknown as Record<string, (...given: readonly unknown[]) => Promise<unknown>>
    for (const { name, given, value } of facts) {
      const here = renderFact(await readers[name]?.(...given))
      if (here !== value) return `${name}(${JSON.stringify(given)}) is ${here}, and was ${value}`
    }
    if (events.length > 0) tx.append(...events)
    return null
  })
}

async function compareLogs(
  stores: readonly PostgresStore[],
  lines: readonly LogLine[],
): Promise<string | null> {
  for (const [at, store] of stores.entries()) {
    await store.look()
    const own = store.db.prepare('select seq, at, events from log order by seq').all() as LogLine[]
    const wrong = lines.findIndex((line, n) => JSON.stringify(line) !== JSON.stringify({ ...own[n] }))
    if (own.length !== lines.length || wrong >= 0)
      return `node ${at} has ${own.length} rows of ${lines.length}, and the first that differs is ${wrong}`
    const { equal, difference } = viewsEqual(store.db)
    if (!equal) return `the views of node ${at} are not the fold of its log: ${difference ?? ''}`
  }
  return null
}
