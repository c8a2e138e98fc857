/** Groups that fail, and what becomes of the works around them. */
import { expect, onTestFinished, test } from 'vitest'
import { append, created, keysOf, sent, testClock } from '../../test/kits/store.ts'
import { CommitQueue } from './commit-queue.ts'
import { DamagedFile } from './file-check.ts'
import { cleanAlready, sqliteStore } from './sqlite.ts'
import { openFiles } from './writer.ts'

/** As many as one group has. */
const groupMax = 256

test('R2: works that were committed were not told so when an urgent one after them was not written', async () => {
  const store = sqliteStore({ directory: ':memory:', now: testClock().now })
  await append(store, created('ses_a'))
  const { page_count: pages } = store.db.prepare('pragma page_count').get() as { page_count: number }
  store.db.exec(`pragma max_page_count = ${pages + 2}`)
  let urgent: Promise<unknown> = Promise.resolve()
  /** It comes while the last one runs that has room in the group. */
  const comeNow = (): void => {
    const large = sent('ses_a', 'turn_1', { text: 'x'.repeat(2_000_000) })
    urgent = store.transact(keysOf('ses_a'), async (tx) => tx.append(large), true)
    urgent.catch(() => undefined)
  }
  const works = Array.from({ length: groupMax }, (_, n) =>
    store.transact([], async () => {
      if (n === groupMax - 1) comeNow()
      return n
    }),
  )
  // It would wait for ever for those that nobody tells.
  const closed = Promise.all(works).then(() => store.close())
  await expect(Promise.all(works)).resolves.toHaveLength(groupMax)
  await expect(urgent).rejects.toMatchObject({ refusal: { code: 'store_unavailable' } })
  await closed
})

test('a damage that is found while works wait stays known: none of them ends it by succeeding', async () => {
  const { now } = testClock()
  const files = openFiles(':memory:', () => undefined)
  onTestFinished(() => files.db.close())
  const options = { now, elapsed: now, cleaner: cleanAlready, onHealth: () => undefined }
  const queue = new CommitQueue(files, options)
  const waiting = queue.transact([], async () => undefined)
  queue.outage.begin(new DamagedFile('a page is wrong'))
  await expect(waiting).rejects.toMatchObject({ refusal: { code: 'store_unavailable' } })
  expect(queue.outage.health()).toMatchObject({ state: 'unavailable' })
})
