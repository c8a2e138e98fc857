/** The store of a world that can lose its machine: everybody has this, and what is in it can be replaced. */
import type { SqliteStore } from '../src/store/sqlite.ts'
import { InjectedFault } from './host.ts'

export class StoreBox {
  readonly #open: () => SqliteStore
  #current: SqliteStore
  isDead = false
  /** Always the present one. */
  readonly store: SqliteStore

  constructor(open: () => SqliteStore) {
    this.#open = open
    this.#current = open()
    this.store = new Proxy({} as SqliteStore, {
      get: (_, name) =>
        this.isDead && (name === 'transact' || name === 'heartbeat')
          ? () => Promise.reject(new InjectedFault('the machine is dead'))
          : this.#current[name as keyof SqliteStore],
    })
  }

  reopen(): void {
    this.#current.close().catch(() => undefined)
    this.#current = this.#open()
    this.isDead = false
  }

  close(): Promise<void> {
    return this.#current.close()
  }
}
