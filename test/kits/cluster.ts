/** Nodes' stores on one PostgreSQL, and ways to look at both. */
import { onTestFinished } from 'vitest'
import type { Hint, Store } from '../../src/runtime/kernel/store-port.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { connect } from '../../src/store/postgres/link.ts'
import { postgresStore, type PostgresOptions, type PostgresStore } from '../../src/store/postgres/postgres.ts'
import type { Postgres } from './postgres.ts'

let schemas = 0
export const nextSchema = (): string => `test_${(schemas += 1)}`

/** What a store measures time with. */
export const clocks = {
  now: () => systemClock.now(),
  elapsed: () => systemClock.elapsed(),
  sleep: (ms: number) => systemClock.sleep(ms),
}

/** `postgres` is null only where its tests are left out. */
export function clusterKit(postgres: Postgres | null) {
  const url = postgres?.url ?? ''
  return {
    open: async (schema: string, more: Partial<PostgresOptions> = {}): Promise<PostgresStore> => {
      const store = await postgresStore({ url, directory: ':memory:', schema, ...clocks, ...more })
      onTestFinished(() => store.close())
      return store
    },
    sql: async (text: string): Promise<Record<string, string | null>[]> => {
      const link = await connect({ url })
      const answers = await link.run(text)
      link.close()
      return answers.at(-1)?.rows ?? []
    },
  }
}

export const texts = async (store: Store): Promise<string[]> =>
  (await store.read(0, {}, 10_000)).events.map(({ seq, event }) => `${seq} ${event.type} ${event.session}`)

export const heard = (store: Store): Hint[] => {
  const hints: Hint[] = []
  store.onHint((some) => hints.push(...some))
  return hints
}

export const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await systemClock.sleep(5)
}
