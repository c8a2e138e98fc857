/** Opens the store that the configuration names. What PostgreSQL needs is loaded only where it is used. */
import type { Config, LoadedConfig } from './config.ts'
import type { DamagedRow } from './model/damaged-row.ts'
import type { Clock } from './runtime/kernel/ports.ts'
import type { StoreHealth } from './runtime/kernel/store-health.ts'
import type { Cleaner } from './runtime/kernel/store-port.ts'
import { wakeLater } from './runtime/kernel/system-clock.ts'
import { findAddress } from './store/postgres/address.ts'
import type { PostgresStore } from './store/postgres/postgres.ts'
import { sqliteStore, type OpenStore } from './store/sqlite.ts'

/** `cluster` is the same store, where other nodes may share it; null where nobody does. */
export type OpenedStore = { store: OpenStore; cluster: PostgresStore | null }

type StoreOptions = {
  directory: string
  settings: Config['store'] | undefined
  clock: Clock
  cleaner?: Cleaner
  onHealth?: (health: StoreHealth) => void
  onDamage?: (fault: DamagedRow) => void
  env?: Readonly<Record<string, string | undefined>>
}

/** So long at most the views in the file are behind its log. */
const followMs = 100

export async function openStore({
  settings,
  clock,
  env = process.env,
  ...options
}: StoreOptions): Promise<OpenedStore> {
  const clocks = { now: () => clock.now(), elapsed: () => clock.elapsed() }
  if (settings?.engine !== 'postgres') {
    const later = (run: () => void): void => void wakeLater(followMs, run)
    return { store: sqliteStore({ ...options, ...clocks, later }), cluster: null }
  }
  const { postgresStore } = await import('./store/postgres/postgres.ts')
  const sleep = (ms: number): Promise<void> => clock.sleep(ms)
  const cluster = await postgresStore({
    ...options,
    ...clocks,
    sleep,
    url: findAddress(settings.urlEnv, env),
  })
  return { store: cluster, cluster }
}

/** What must not be recorded: the address has a password in it. */
export function listStoreSecrets(config: Config | null): string[] {
  const url = config === null ? undefined : process.env[config.store.urlEnv]
  if (url === undefined || url === '') return []
  const password = URL.canParse(url) ? decodeURIComponent(new URL(url).password) : ''
  return [url, password].filter((text) => text !== '')
}

/** The settings that count for a line: also those of the environment, where there is no file. */
export const storeSettings = (config: Config | null, loaded: LoadedConfig | undefined) =>
  (config ?? loaded?.config)?.store
