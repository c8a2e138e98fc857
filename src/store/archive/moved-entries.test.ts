import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { append, created, ended, said, sent, started, testClock } from '../../../test/kits/store.ts'
import type { TurnId } from '../../model/id.ts'
import { viewsEqual } from '../rebuild.ts'
import { sqliteStore, type SqliteStore } from '../sqlite.ts'

/** So many turns that their entries are not indexed yet, and so many more that some of them are. */
const [movedTurns, laterTurns] = [120, 12]

async function talk(store: SqliteStore, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n += 1) {
    const turn: TurnId = `turn_${n}`
    await append(store, sent('ses_a', turn, { flow: `flow_${n}` }), started('ses_a', turn))
    await append(store, ended('ses_a', turn, 1, said(2 * n - 1, `asked${n}x`, `answered${n}x`)))
  }
}

test('questions that were moved are found by their words, also where they are indexed later', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-moved-'))
  const store = sqliteStore({ directory, now: testClock().now })
  onTestFinished(async () => {
    await store.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const find = async (keyword: string) => {
    const ask = { filter: { keywords: [keyword] }, now: 0, tokensMax: 4000 }
    const { entries, dropped } = await store.entries('ses_a', ask)
    return { texts: entries.map(({ text }) => text), dropped: dropped.keywords }
  }
  await append(store, created('ses_a'))
  await talk(store, 1, movedTurns)
  await append(store, { type: 'session.archived', session: 'ses_a', turn: null, cause: 'idle' })
  await store.archive?.({ endedBefore: Number.MAX_SAFE_INTEGER, now: 1, unitsPerSegment: 1_000_000 })
  expect(store.db.prepare(`select count(*) as n from entries where text = ''`).get()).toEqual({
    n: movedTurns,
  })
  expect(await find('asked7x')).toEqual({ texts: ['asked7x'], dropped: 2 * movedTurns - 1 })
  await talk(store, movedTurns + 1, movedTurns + laterTurns)
  const indexed = store.db.prepare('select entries from keyword_sessions').get() as { entries: number }
  expect(indexed.entries).toBeGreaterThan(60)
  for (const word of ['asked7x', 'answered7x', 'asked119x', 'asked125x'])
    expect(await find(word)).toEqual({ texts: [word], dropped: 2 * (movedTurns + laterTurns) - 1 })
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})
