import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { append, created, ended, said, sent, started, testClock } from '../../../test/kits/store.ts'
import { sqliteStore } from '../sqlite.ts'

test('no more segments are made at a time than were asked for, and the next time goes on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-few-'))
  const store = sqliteStore({ directory, now: testClock().now })
  onTestFinished(async () => {
    await store.close()
    rmSync(directory, { recursive: true, force: true })
  })
  await append(store, created('ses_a'))
  for (let n = 1; n <= 3; n += 1) {
    await append(store, sent('ses_a', `turn_${n}`, { flow: `flow_${n}` }), started('ses_a', `turn_${n}`))
    await append(store, ended('ses_a', `turn_${n}`, 1, said(2 * n - 1, 'asked', 'answered')))
  }
  await append(store, { type: 'session.archived', session: 'ses_a', turn: null, cause: 'idle' })
  const ask = { endedBefore: Number.MAX_SAFE_INTEGER, now: 1, unitsPerSegment: 1, segmentsMax: 1 }
  const counts = []
  for (let n = 0; n < 4; n += 1) counts.push((await store.archive?.(ask))?.segments)
  expect(counts).toEqual([1, 1, 1, 0])
})
