/**
 * The part of the Store contract that is about reading outside transactions: the log, single rows, entries.
 */
import { expect, test } from 'vitest'
import type { Entry } from '../model/context.ts'
import type { SessionId } from '../model/id.ts'
import { pageUnitsMax } from '../model/limits.ts'
import {
  append,
  created,
  ended,
  opened,
  refused,
  running,
  said,
  sent,
  started,
  summarised,
} from '../../test/kits/store.ts'
import type { Fresh } from './store-contract.ts'

export function rowsContract(fresh: Fresh): void {
  log(fresh)
  followed(fresh)
  longTexts(fresh)
  longReads(fresh)
  rows(fresh)
  lists(fresh)
}

function log(fresh: Fresh): void {
  test('R10: reading page by page gives every event once and in order, whatever the size of the page', async () => {
    const { store } = await fresh()
    for (let n = 0; n < 7; n += 1)
      await append(store, ...Array.from({ length: n + 1 }, (_, of) => created(`ses_${n}-${of}`)))
    const all = (await store.read(0, {}, 100)).events
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: 28 }, (_, n) => n + 1))
    for (const limit of [1, 2, 3, 5, 27, 28]) {
      const paged = []
      for (let after = 0; ;) {
        const { events, next } = await store.read(after, {}, limit)
        if (events.length === 0) break
        expect(events.length).toBeLessThanOrEqual(limit)
        expect(next).toBeGreaterThan(after)
        paged.push(...events)
        after = next
      }
      expect(paged).toEqual(all)
    }
  })

  test('a cursor in the middle of a transaction goes on with its next event', async () => {
    const { store } = await fresh()
    await append(store, created('ses_a'), created('ses_b'), created('ses_c'))
    expect((await store.read(1, {}, 10)).events.map(({ event }) => event.session)).toEqual(['ses_b', 'ses_c'])
    expect(await store.read(1, {}, 1)).toMatchObject({ events: [{ seq: 2 }], next: 2 })
    expect(await store.read(3, {}, 10)).toEqual({ events: [], next: 3, more: false, units: 0 })
    expect(await store.read(99, {}, 10)).toEqual({ events: [], next: 99, more: false, units: 0 })
  })

  test('a filter by sessions and types passes what it names, in order, and its cursor skips nothing', async () => {
    const { store } = await fresh()
    for (const name of ['a', 'b', 'c']) await append(store, ...running(name))
    await append(store, ended('ses_b', 'turn_b'), ended('ses_a', 'turn_a'))
    const filters: { filter: Parameters<typeof store.read>[1]; seqs: number[] }[] = [
      { filter: { sessions: ['ses_b', 'ses_a'] }, seqs: [1, 2, 3, 4, 5, 6, 10, 11] },
      { filter: { types: ['turn.ended', 'session.created'] }, seqs: [1, 4, 7, 10, 11] },
      { filter: { sessions: ['ses_a'], types: ['turn.ended'] }, seqs: [11] },
      { filter: { sessions: [] }, seqs: [] },
      { filter: { sessions: ['ses_x'] }, seqs: [] },
    ]
    for (const { filter, seqs } of filters) {
      expect((await store.read(0, filter, 100)).events.map(({ seq }) => seq)).toEqual(seqs)
      const paged: number[] = []
      for (let after = 0; ;) {
        const { events, next } = await store.read(after, filter, 1)
        if (events.length === 0) break
        paged.push(...events.map(({ seq }) => seq))
        after = next
      }
      expect(paged).toEqual(seqs)
    }
  })
}

function longTexts(fresh: Fresh): void {
  test('R11: a page of long texts ends with what it carries; reading on gives every event once', async () => {
    const { store } = await fresh()
    const long = 'x'.repeat(1_000_000)
    for (let n = 1; n <= 24; n += 1)
      await append(
        store,
        created(`ses_${n}`),
        sent(`ses_${n}`, `turn_${n}`, { text: n % 3 === 0 ? 'short' : `${n} ${long}` }),
      )
    const some = { sessions: Array.from({ length: 24 }, (_, n): SessionId => `ses_${n + 1}`) }
    for (const filter of [{}, some, { types: ['message.sent' as const] }]) {
      const seen: number[] = []
      for (let [after, more] = [0, true]; more;) {
        const page = await store.read(after, filter, 200)
        const units = JSON.stringify(page.events).length
        // As much as fits, and the row that filled it.
        expect(units).toBeLessThan(pageUnitsMax + 1_010_000)
        expect(page.more).toBe(page.units > pageUnitsMax)
        expect(page.events.length).toBeGreaterThan(0)
        seen.push(...page.events.map(({ seq }) => seq))
        ;[after, more] = [page.next, page.more]
      }
      expect(seen).toEqual(
        Array.from({ length: 48 }, (_, n) => n + 1).filter((seq) => !('types' in filter) || seq % 2 === 0),
      )
    }
    // What does not pass fills no page, however much of it there is.
    expect((await store.read(0, { sessions: ['ses_24'] }, 1)).events.map(({ seq }) => seq)).toEqual([47])
    expect(await store.read(0, { types: ['turn.ended'] }, 1)).toEqual({
      events: [],
      next: 48,
      more: false,
      units: 0,
    })
  })
}

function longReads(fresh: Fresh): void {
  test('R11: looking through much for a little lets others run meanwhile', async () => {
    const { store } = await fresh()
    const long = 'x'.repeat(1_000_000)
    for (let n = 1; n <= 40; n += 1)
      await append(store, created(`ses_${n}`), sent(`ses_${n}`, `turn_${n}`, { text: `${n} ${long}` }))
    let rounds = 0
    let reading = true
    const count = (): void => {
      rounds += 1
      if (reading) setImmediate(count)
    }
    setImmediate(count)
    await store.read(0, { types: ['turn.ended'] }, 1)
    reading = false
    expect(rounds).toBeGreaterThan(20)
  })

  test('R11: entries with long texts come as far as they fit, from the side that was asked for', async () => {
    const { store } = await fresh()
    await append(store, created('ses_a'))
    const long = 'x'.repeat(1_000_000)
    for (let n = 1; n <= 9; n += 2)
      await append(
        store,
        sent('ses_a', `turn_${n}`),
        started('ses_a', `turn_${n}`),
        ended('ses_a', `turn_${n}`, 0, said(n, `asked ${n}`, `${n} ${long}`)),
      )
    const up = Array.from({ length: 12 }, (_, n) => n + 1)
    const numbers = async (asked: number[], unitsMax?: number): Promise<number[]> =>
      (await store.entriesByNumber('ses_a', asked, unitsMax)).map(({ n }) => n)
    expect(await numbers(up)).toEqual(up.slice(0, 10))
    expect(await numbers(up, 500_000)).toEqual([1, 2])
    expect(await numbers(up, 1_100_000)).toEqual([1, 2, 3, 4])
    expect(await numbers(up.toReversed(), 500_000)).toEqual([10])
    expect(await numbers(up.toReversed(), 1_000_100)).toEqual([10, 9, 8])
  })
}

function followed(fresh: Fresh): void {
  test('R9: a reader that follows the cursor while others write misses nothing', async () => {
    const { store } = await fresh()
    const seen: number[] = []
    let after = 0
    const writers = Array.from({ length: 60 }, async (_, n) => append(store, created(`ses_${n}`)))
    const done = Promise.all(writers)
    while (seen.length < 60) {
      const { events, next } = await store.read(after, {}, 7)
      seen.push(...events.map(({ seq }) => seq))
      after = next
      if (events.length === 0) await new Promise<void>((resolve) => setImmediate(() => resolve()))
    }
    await done
    expect(seen).toEqual(Array.from({ length: 60 }, (_, n) => n + 1))
  })

  test('one event is found by its number, and none where there is none', async () => {
    const { store } = await fresh()
    await append(store, created('ses_a'), created('ses_b'))
    expect((await store.event(2))?.event.session).toBe('ses_b')
    expect([await store.event(0), await store.event(3)]).toEqual([null, null])
  })

  test('R10: text comes back as it was written, also what is no good Unicode', async () => {
    const { store } = await fresh()
    const text = 'NUL \0, half \ud83d, 😀, "quoted"\n'
    await append(store, created('ses_a'), sent('ses_a', 'turn_a', { text }))
    expect((await store.read(1, {}, 1)).events).toMatchObject([{ event: { text } }])
  })
}

function rows(fresh: Fresh): void {
  test('entries are found by their numbers, in the order asked for', async () => {
    const { store, clock } = await fresh()
    const text = 'two 😀\0'
    await append(
      store,
      ...running('a'),
      ended(
        'ses_a',
        'turn_a',
        0,
        said(1, 'one', text, { from: 'planner', askedTokens: 4, answeredTokens: 5, startedAt: 77 }),
        ['read'],
      ),
    )
    const one: Entry = {
      n: 1,
      role: 'user',
      at: 77,
      text: 'one',
      tokens: 4,
      from: 'planner',
      turn: 'turn_a',
      hasSteps: false,
      steps: null,
    }
    const two: Entry = {
      n: 2,
      role: 'assistant',
      at: clock.now(),
      text,
      tokens: 5,
      from: null,
      turn: 'turn_a',
      hasSteps: true,
      steps: null,
    }
    expect(await store.entriesByNumber('ses_a', [2, 1, 9])).toEqual([two, one])
    expect(await store.entriesByNumber('ses_a', [])).toEqual([])
    expect(await store.entriesByNumber('ses_b', [1])).toEqual([])
    expect((await store.session('ses_a'))?.entries).toBe(2)
  })

  test('the newest entries that fit are chosen, and a keyword finds what contains it', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'), ended('ses_a', 'turn_a', 0, said(1, 'red', 'blue')))
    await append(
      store,
      sent('ses_a', 'turn_a2'),
      started('ses_a', 'turn_a2'),
      ended('ses_a', 'turn_a2', 0, said(3, 'Red again', 'green')),
    )
    const select = { now: 10, tokensMax: 100 }
    const numbers = async (more: Partial<Parameters<typeof store.entries>[1]>): Promise<number[]> =>
      (await store.entries('ses_a', { ...select, filter: {}, ...more })).entries.map(({ n }) => n)
    expect(await numbers({ filter: { last_messages: 2 } })).toEqual([3, 4])
    expect(await numbers({ tokensMax: 1 })).toEqual([4])
    expect(await numbers({ tokensMax: 0 })).toEqual([])
    expect(await numbers({ filter: { keywords: ['RED'] } })).toEqual([1, 3])
  })
}

function lists(fresh: Fresh): void {
  test('sessions are listed newest first, by agent and kind, and turns by flow, session and caller', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a', { flow: 'flow_a' }),
      created('ses_b', 'ephemeral', 'coder'),
      opened({ from: 'ses_a', in: 'turn_a', call: 'call_b', to: 'ses_b', flow: 'flow_a' }),
    )
    const ids = (of: readonly { id: string }[]): string[] => of.map(({ id }) => id)
    expect(ids(await store.sessions({}, 10))).toEqual(['ses_b', 'ses_a'])
    expect(ids(await store.sessions({ agent: 'coder' }, 10))).toEqual(['ses_b'])
    expect(ids(await store.sessions({ kind: 'persistent' }, 10))).toEqual(['ses_a'])
    expect(ids(await store.sessions({}, 1))).toEqual(['ses_b'])
    expect(ids(await store.turns({ flow: 'flow_a' }, 10))).toEqual(['turn_a', 'turn_b'])
    expect(ids(await store.turns({ session: 'ses_b' }, 10))).toEqual(['turn_b'])
    expect(ids(await store.turns({ callerTurn: 'turn_a' }, 10))).toEqual(['turn_b'])
    expect(ids(await store.turns({ flow: 'flow_2' }, 10))).toEqual([])
  })

  test('a refused call is found by its id, and no other', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'), refused('ses_a', 'turn_a', 'call_no'))
    expect((await store.refused('call_no'))?.event).toMatchObject({
      type: 'call.refused',
      refusal: { code: 'self_call' },
    })
    expect(await store.refused('call_other')).toBeNull()
    expect(await store.turn('turn_no')).toBeNull()
  })

  test('a summary belongs to its session with the number of entries that it covers', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'), summarised('ses_a', 'turn_a', 'it was about red', 4))
    expect(await store.session('ses_a')).toMatchObject({ summary: 'it was about red', summaryEntries: 4 })
  })
}
