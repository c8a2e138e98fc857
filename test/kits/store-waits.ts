import { NeedsKeys } from '../../src/runtime/kernel/store-port.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'

const store = sqliteStore({ directory: ':memory:', now: () => 0 })
const waits: Record<string, () => Promise<unknown>> = {
  facts: () => store.transact(['session:ses_a'], async (tx) => tx.session('ses_a')),
  timer: () => store.transact([], () => new Promise<void>((resolve) => void setTimeout(() => resolve(), 50))),
  immediate: () =>
    store.transact([], () => new Promise<void>((resolve) => void setImmediate(() => resolve()))),
  nested: () => store.transact([], () => store.transact([], async () => undefined)),
  greedy: () =>
    store.transact([], async () => Promise.reject(new NeedsKeys(['session:ses_x']))).catch(() => undefined),
}
await waits[process.argv[2] ?? '']?.()
process.stdout.write('done\n')
