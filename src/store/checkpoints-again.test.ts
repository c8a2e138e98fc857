import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextRound } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Checkpoints, readPages } from './checkpoints.ts'

test('when the file beside the log has begun again, the thread does not wait for its old length', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-checkpoints-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'pages.db')
  const db = new DatabaseSync(file, { timeout: 5000 })
  db.exec('pragma journal_mode = wal; create table pages (bytes blob)')
  onTestFinished(() => db.close())
  const look = db.prepare('pragma wal_checkpoint(noop)')
  const insert = db.prepare('insert into pages values (zeroblob(3000))')
  const checkpoints = new Checkpoints(file, { passed: 64, last: 8, restarted: 10_000, alone: 100_000 })
  const write = async (upTo: number): Promise<void> => {
    while (readPages(look).log < upTo) {
      insert.run()
      void checkpoints.afterCommit(db)
      await nextRound()
    }
  }
  const reader = new DatabaseSync(file, { readOnly: true })
  reader.exec('begin')
  reader.prepare('select count(*) from pages').get()
  // Nothing that is newer than the reader can be passed on.
  await write(600)
  await expect.poll(() => checkpoints.passes).toBeGreaterThan(0)
  reader.close()
  db.exec('pragma wal_checkpoint(truncate)')
  const before = checkpoints.passes
  await write(200)
  await expect.poll(() => checkpoints.passes).toBeGreaterThan(before)
  await checkpoints.close()
})
