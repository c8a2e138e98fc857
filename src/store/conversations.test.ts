import { setImmediate as nextRound } from 'node:timers/promises'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { historyTokensMax } from '../model/limits.ts'
import type { EntryPage } from '../runtime/kernel/store-port.ts'
import { removeLater } from '../../test/kits/small-disk.ts'
import { append, created, ended, said, sent, started, testClock } from '../../test/kits/store.ts'
import { Conversations } from './conversations.ts'
import { selectEntries } from './entries.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

const shown = { filter: {}, now: 10, tokensMax: historyTokensMax }
const full = historyTokensMax

function memory(): SqliteStore {
  const store = sqliteStore({ directory: ':memory:', now: testClock().now })
  onTestFinished(() => store.close())
  return store
}

const exchange = (turn: number, asked: number, answered: number) =>
  said(2 * turn + 1, `asked ${turn} \ud800`, `answered ${turn}`, {
    askedTokens: asked,
    answeredTokens: answered,
  })

/** One more turn of session `ses_a`. */
const go = (store: SqliteStore, turn: number, entry: ReturnType<typeof said>, tools: string[] = []) =>
  append(
    store,
    sent('ses_a', `turn_${turn}`, { flow: `flow_${turn}` }),
    started('ses_a', `turn_${turn}`),
    ended('ses_a', `turn_${turn}`, 0, entry, tools),
  )

test('R10: what a turn is shown from memory is what the views have, whatever was said', async () => {
  const tokens = fc.constantFrom(0, 1, 100, full / 2, full - 1, full, full + 1)
  const turns = fc.array(fc.tuple(tokens, tokens, fc.boolean()), { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(turns, async (list) => {
      const store = memory()
      await append(store, created('ses_a'))
      for (const [turn, [asked, answered, usesTool]] of list.entries()) {
        await go(store, turn, exchange(turn, asked, answered), usesTool ? ['read'] : [])
        const page = await store.entries('ses_a', shown)
        expect(page).toEqual(selectEntries(store.db, 'ses_a', shown))
      }
    }),
    { numRuns: 30 },
  )
})

test('a conversation that others may change is kept as it was', async () => {
  const store = memory()
  await append(store, created('ses_a'))
  await go(store, 0, said(1, 'red', 'blue'))
  for (const entry of (await store.entries('ses_a', shown)).entries) entry.text = 'forged'
  expect((await store.entries('ses_a', shown)).entries.map(({ text }) => text)).toEqual(['red', 'blue'])
})

const end = (n: number, text = 'x') => ended('ses_a', 'turn_a', 0, said(n, text, 'y'))
const transaction = (seq: number, n: number, text?: string) => ({
  seq,
  at: 5,
  events: [end(n, text)],
  sessions: new Set(['ses_a' as const]),
})
const one: EntryPage = {
  entries: [
    { n: 1, role: 'user', at: 1, text: 'x', tokens: 1, from: null, turn: 't', hasSteps: false, steps: null },
  ],
  total: 1,
  dropped: {},
}

test('R2: a conversation that went on in a commit which is not on disk is not shown', () => {
  const known = new Conversations()
  known.apply(transaction(7, 1), () => true)
  expect(known.page('ses_a', shown, 6)).toBeNull()
  expect(known.page('ses_a', shown, 7)?.total).toBe(2)
  known.clear()
  expect(known.page('ses_a', shown, 7)).toBeNull()
})

test('only what a turn is shown is kept, and only of sessions that go on', () => {
  const known = new Conversations()
  known.apply(transaction(7, 1), () => false)
  expect(known.page('ses_a', shown, 9)).toBeNull()
  known.apply(transaction(8, 3), () => true)
  expect(known.page('ses_a', shown, 9)).toBeNull()
  known.apply(transaction(9, 1), () => true)
  expect(known.page('ses_a', { ...shown, tokensMax: 5 }, 9)).toBeNull()
  expect(known.page('ses_a', { ...shown, filter: { last_messages: 1 } }, 9)).toBeNull()
  expect(known.page('ses_a', shown, 9)).not.toBeNull()
})

test('what was read is kept, unless the conversation went on meanwhile', async () => {
  const known = new Conversations()
  await known.learn('ses_a', shown, async () => one)
  expect(known.page('ses_a', shown, 0)?.entries).toEqual(one.entries)
  known.clear()
  await known.learn('ses_a', shown, async () => {
    known.apply(transaction(7, 3), () => true)
    return one
  })
  expect(known.page('ses_a', shown, 9)).toBeNull()
  await known.learn('ses_a', { ...shown, tokensMax: 5 }, async () => one)
  expect(known.page('ses_a', shown, 9)).toBeNull()
})

test('R11: the oldest conversations are dropped where there are too many, or too much was said', () => {
  const known = new Conversations()
  const tell = (session: `ses_${string}`, text: string): void => {
    const event = { ...end(1, text), session }
    known.apply({ seq: 1, at: 5, events: [event], sessions: new Set([session]) }, () => true)
  }
  for (let n = 0; n <= 4096; n += 1) tell(`ses_${n}`, 'short')
  expect([0, 1, 4096].map((n) => known.page(`ses_${n}`, shown, 1) !== null)).toEqual([false, true, true])
  const long = 'x'.repeat(3 * 1024 * 1024)
  for (const name of ['a', 'b'] as const) tell(`ses_${name}`, long)
  expect(known.page('ses_a', shown, 1)).not.toBeNull()
  tell('ses_c', long)
  expect(['a', 'b', 'c'].map((name) => known.page(`ses_${name}`, shown, 1) !== null)).toEqual([
    true,
    false,
    true,
  ])
})

/** A disk that syncs when it is told to, or not at all. */
function openDisk() {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-conversations-'))
  removeLater(directory)
  const clock = testClock()
  const disk = { state: 'fast' as 'fast' | 'slow' | 'broken', release: (): void => undefined }
  const sync = async (): Promise<void> => {
    if (disk.state === 'broken') throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
    if (disk.state === 'slow') await new Promise<void>((resolve) => (disk.release = resolve))
  }
  const openSync = () => ({ sync, close: async () => undefined })
  const store = sqliteStore({ directory, now: clock.now, openSync })
  onTestFinished(() => store.close())
  return { store, disk, later: () => clock.set(clock.now() + 5001) }
}

const rounds = async (): Promise<void> => {
  for (let round = 0; round < 5; round += 1) await nextRound()
}

test('a turn is not shown its conversation late because others are on their way to disk', async () => {
  const { store, disk } = openDisk()
  await append(store, created('ses_a'))
  await go(store, 0, said(1, 'red', 'blue'))
  disk.state = 'slow'
  const other = append(store, created('ses_b'))
  await rounds()
  const told: string[] = []
  void other.then(() => told.push('other'))
  void store.entries('ses_a', shown).then(({ total }) => told.push(`${total} entries`))
  void store.session('ses_a').then((row) => told.push(`a row with ${row?.entries}`))
  void store.session('ses_b').then(() => told.push('a row that is not on disk'))
  await rounds()
  expect(told).toEqual(['2 entries', 'a row with 2'])
  disk.state = 'fast'
  disk.release()
  await other
})

test('a turn is shown what was said in a commit that the disk had kept after all', async () => {
  const { store, disk, later } = openDisk()
  await append(store, created('ses_a'))
  await go(store, 0, said(1, 'red', 'blue'))
  disk.state = 'broken'
  await expect(go(store, 1, said(3, 'more', 'yellow'))).rejects.toThrow('EIO')
  expect((await store.entries('ses_a', shown)).total).toBe(2)
  disk.state = 'fast'
  later()
  await append(store, created('ses_b'))
  expect((await store.entries('ses_a', shown)).entries.map(({ text }) => text)).toEqual([
    'red',
    'blue',
    'more',
    'yellow',
  ])
})
