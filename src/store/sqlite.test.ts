import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { NeedsKeys } from '../runtime/kernel/store-port.ts'
import { append, created, ended, grantOf, keysOf, running, sent, testClock } from '../../test/kits/store.ts'
import { viewsEqual } from './rebuild.ts'
import { AppendFault } from '../runtime/kernel/store-port.ts'
import { StoreUnavailable } from '../runtime/kernel/store-health.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'
import { storeContract } from './store-contract.ts'

storeContract('the SQLite store in a directory', async (clock) => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-store-'))
  const store = sqliteStore({ directory, now: clock.now })
  const outside = new DatabaseSync(join(directory, 'tieline.db'), { readOnly: true })
  const last = outside.prepare('select max(seq) as seq from log')
  return {
    store,
    durable: () => (last.get() as { seq: number | null }).seq ?? 0,
    async close() {
      outside.close()
      await store.close()
      rmSync(directory, { recursive: true })
    },
  }
})

function memory(): SqliteStore {
  const store = sqliteStore({ directory: ':memory:', now: testClock().now })
  onTestFinished(() => store.close())
  return store
}

test('a hundred works at once share a few commits', async () => {
  const store = memory()
  const before = store.commits()
  await Promise.all(Array.from({ length: 100 }, (_, n) => append(store, created(`ses_${n}`))))
  expect(store.lastSeq()).toBe(100)
  expect(store.commits() - before).toBeLessThanOrEqual(2)
})

test('R11: a group has an end, so that those who came first are not kept waiting by those who come after', async () => {
  const store = memory()
  await Promise.all(Array.from({ length: 1000 }, (_, n) => append(store, created(`ses_${n}`))))
  expect(store.commits()).toBe(4)
})

const atMost = <T>(promise: Promise<T>): Promise<T | 'nobody was told'> =>
  Promise.race([
    promise,
    new Promise<'nobody was told'>((resolve) => void setTimeout(() => resolve('nobody was told'), 500)),
  ])

async function broken(store: SqliteStore): Promise<PromiseSettledResult<unknown>[]> {
  await append(store, ...running('kept'))
  return Promise.allSettled(
    [
      append(store, created('ses_before')),
      append(store, ended('ses_kept', 'turn_unknown')),
      append(store, created('ses_after')),
    ].map(atMost),
  )
}

test('R2: an event that cannot be folded fails the work that wanted it, and nobody else of its group', async () => {
  const store = memory()
  const settled = await broken(store)
  expect(
    settled.map((one) => (one.status === 'rejected' ? (one.reason as Error).constructor : one.value)),
  ).toEqual([undefined, AppendFault, undefined])
  expect((await store.read(0, {}, 100)).events.map(({ event }) => event.session)).toEqual([
    'ses_kept',
    'ses_kept',
    'ses_kept',
    'ses_before',
    'ses_after',
  ])
  expect(store.lastSeq()).toBe(5)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('R2: what is not JSON fails the work that wanted it, and nobody else of its group', async () => {
  const store = memory()
  await append(store, ...running('kept'))
  const deep = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`) as never
  const odd = [1n, deep].map(
    (output) =>
      ({
        type: 'step.ended',
        session: 'ses_kept',
        turn: 'turn_kept',
        kind: 'tool',
        name: 'x',
        key: 'k',
        input: null,
        ok: true,
        output,
        usage: null,
        startedAt: 0,
      }) as never,
  )
  const settled = await Promise.allSettled(
    [
      append(store, created('ses_before')),
      append(store, odd[0] as never),
      append(store, created('ses_after')),
    ].map(atMost),
  )
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  await expect(append(store, created('ses_later'))).resolves.toBeUndefined()
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('R2: where the disk fails at the commit, all are rejected, and the log has what was acknowledged', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-store-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const store = sqliteStore({ directory, now: testClock().now })
  await append(store, created('ses_kept'))
  store.db.exec(`pragma max_page_count = 1`)
  const large = append(store, sent('ses_kept', 'turn_1', { text: 'x'.repeat(4_000_000) }))
  await expect(atMost(Promise.resolve(large))).rejects.toThrow(StoreUnavailable)
  await store.close()
  const again = sqliteStore({ directory, now: testClock().now })
  onTestFinished(() => again.close())
  expect(again.lastSeq()).toBe(1)
  expect(viewsEqual(again.db).equal).toBe(true)
  await append(again, created('ses_new'))
  expect(again.lastSeq()).toBe(2)
})

test('R1: a transaction that awaits something other than its facts is a bug, and crashes the process', () => {
  const script = fileURLToPath(new URL('../../test/kits/store-waits.ts', import.meta.url))
  for (const how of ['timer', 'immediate', 'nested']) {
    const { status, stderr, stdout } = spawnSync(process.execPath, [script, how], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect([how, status, stdout]).toEqual([how, 1, ''])
    expect(stderr).toContain('a transaction awaited something other than its facts')
  }
  expect(spawnSync(process.execPath, [script, 'facts'], { encoding: 'utf8' }).stdout).toBe('done\n')
})

test('R11: a work that always asks for more keys is not run for ever', () => {
  const script = fileURLToPath(new URL('../../test/kits/store-waits.ts', import.meta.url))
  const { signal, status } = spawnSync(process.execPath, [script, 'greedy'], {
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  expect([signal, status]).toEqual([null, 0])
}, 90_000)

test('R7: two stores in one process do not share grants, also where their turns have the same id', async () => {
  const [one, other] = [memory(), memory()]
  await append(one, ...running('a', { grant: grantOf('a', { depth: 1 }) }))
  await append(other, ...running('a', { grant: grantOf('a', { depth: 2 }) }))
  expect([(await one.turn('turn_a'))?.grant.depth, (await other.turn('turn_a'))?.grant.depth]).toEqual([1, 2])
})

test('the keys that a work lacks are named', () => {
  expect(new NeedsKeys(keysOf('ses_a', 'ses_b')).message).toBe(
    'facts outside the keys: session:ses_a, session:ses_b',
  )
})
