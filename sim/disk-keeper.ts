/** The disk of a world and the store on it: breaks the disk, and brings both back. */
import { sqliteStore, type SqliteStore } from '../src/store/sqlite.ts'
import { Disk } from './disk.ts'
import { takeDatabase } from './kept-databases.ts'
import type { Host } from './host.ts'
import type { Fault, Plan } from './plan.ts'
import { mix } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import { StoreBox } from './store-box.ts'

type DiskFault = Extract<Fault, { kind: 'disk' }>
type Machine = {
  scheduler: Scheduler
  hosts: readonly Host[]
  /** Everything that ran on it is gone. */
  died(): void
  /** It is up again, with the store as its disk has it. */
  came(): void
}

export class DiskKeeper {
  /** Null where the store is in memory. */
  readonly disk: Disk | null
  readonly #box: StoreBox
  readonly #machine: Machine

  constructor(plan: Plan, machine: Machine, now: () => number, isPlain: boolean) {
    this.#machine = machine
    const onDisk = plan.faults.some(({ kind }) => kind === 'disk')
    this.disk = onDisk ? new Disk((below) => mix(plan.seed, 'torn', below) % below) : null
    // A planted bug may change more than tables.
    const memory =
      this.disk === null && isPlain ? takeDatabase(plan.overlap ? 'watched' : 'plain') : ':memory:'
    this.#box = new StoreBox(() =>
      sqliteStore({
        directory: this.disk?.directory ?? memory,
        now,
        elapsed: () => machine.scheduler.now,
        ...(this.disk === null ? {} : { openSync: this.disk.openSync }),
      }),
    )
  }

  get store(): SqliteStore {
    return this.#box.store
  }

  /** The machine died inside a commit, and is not up again. */
  get isDead(): boolean {
    return this.#box.isDead
  }

  /** Where the machine dies inside a commit, it comes back with what that commit left. */
  breakDisk({ how }: DiskFault, after: (run: () => void) => void): void {
    const { disk } = this
    if (disk === null || disk.fault !== null || this.isDead) return after(() => undefined)
    disk.fault = how
    disk.kept = false
    const marker: DiskFault = { kind: 'disk', how, at: 0, node: 0, ms: 0 }
    for (const host of this.#machine.hosts) host.open(marker)
    disk.onDeath = () => {
      this.#box.isDead = true
      for (const host of this.#machine.hosts) host.crash()
      this.#machine.died()
    }
    after(() => {
      disk.fault = null
      if (this.isDead) {
        this.#box.reopen()
        this.#machine.came()
      }
      this.#untilWritten(marker)
    })
  }

  /** The store looks at its disk again after a pause. */
  #untilWritten(marker: DiskFault): void {
    const { hosts, scheduler } = this.#machine
    if (this.store.health().state === 'ok') for (const host of hosts) host.close(marker)
    else scheduler.after(200, 'disk', () => this.#untilWritten(marker))
  }

  async close(): Promise<void> {
    await this.#box.close()
    this.disk?.remove()
  }
}
