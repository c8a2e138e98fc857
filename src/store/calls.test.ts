/** Lists of calls: bounded, whole, each once, also where most of what is looked through belongs to others. */
import { expect, test } from 'vitest'
import {
  append,
  callEnded,
  created,
  ended,
  opened,
  refused,
  running,
  started,
} from '../../test/kits/store.ts'
import type { CallId, SessionId } from '../model/id.ts'
import { pageUnitsMax } from '../model/limits.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

const fresh = (): SqliteStore => sqliteStore({ directory: ':memory:', now: () => 0 })

async function call(store: SqliteStore, from: string, name: string, isOver = true): Promise<void> {
  const [to, id]: [SessionId, CallId] = [`ses_${name}`, `call_${name}`]
  await append(
    store,
    opened({ from: `ses_${from}`, in: `turn_${from}`, call: id, to }),
    created(to, 'ephemeral'),
    started(to, `turn_${name}`),
  )
  if (isOver) await append(store, ended(to, `turn_${name}`), callEnded(`ses_${from}`, `turn_${from}`, id, to))
}

async function all(
  store: SqliteStore,
  session: SessionId | null,
  limit: number,
): Promise<{ names: string[]; pages: number }> {
  const names: string[] = []
  let pages = 0
  for (let before: number | null = null; ;) {
    const { calls, next } = await store.lists.calls({ session, before }, limit)
    expect(calls.length).toBeLessThanOrEqual(limit)
    pages += 1
    names.push(
      ...calls.map(
        ({ first, ended: end }) =>
          `${'call' in first.event ? first.event.call.slice(5) : ''}${end === null ? '' : '.'}`,
      ),
    )
    if (next === null) return { names, pages }
    before = next
  }
}

test('opened and refused calls, pending and over, come in the order of their beginning', async () => {
  const store = fresh()
  await append(store, ...running('a'), ...running('b'))
  await call(store, 'a', 'one')
  await append(store, refused('ses_a', 'turn_a', 'call_two'))
  await call(store, 'b', 'three', false)
  for (const limit of [1, 2, 3, 10])
    expect((await all(store, null, limit)).names).toEqual(['three', 'two', 'one.'])
  expect((await all(store, 'ses_a', 10)).names).toEqual(['two', 'one.'])
  expect((await all(store, 'ses_three', 10)).names).toEqual(['three'])
})

test('calls of a session that called long ago are found page by page, never in one long search', async () => {
  const store = fresh()
  await append(store, ...running('a'), ...running('b'))
  await call(store, 'a', 'first')
  await append(store, ...Array.from({ length: 12_000 }, (_, n) => refused('ses_b', 'turn_b', `call_n${n}`)))
  await call(store, 'a', 'last')
  const { names, pages } = await all(store, 'ses_a', 50)
  expect(names).toEqual(['last.', 'first.'])
  expect(pages).toBeGreaterThan(2)
})

test('R11: calls with long tasks make a page short, and every call is on one of the pages', async () => {
  const store = fresh()
  await append(store, ...running('a'))
  const names = Array.from({ length: 30 }, (_, n) => `n${n}`)
  for (const name of names) {
    const [to, id]: [SessionId, CallId] = [`ses_${name}`, `call_${name}`]
    await append(
      store,
      {
        ...opened({ from: 'ses_a', in: 'turn_a', call: id, to }),
        task: 'x'.repeat(100_000),
        input: 'y'.repeat(100_000),
      },
      created(to, 'ephemeral'),
    )
  }
  const { calls } = await store.lists.calls({ session: null, before: null }, 500)
  expect(JSON.stringify(calls).length).toBeLessThan(pageUnitsMax + 110_000)
  const { names: found, pages } = await all(store, 'ses_a', 500)
  expect(found).toEqual(names.toReversed())
  expect(pages).toBeGreaterThan(4)
})
