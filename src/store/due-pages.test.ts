import { expect, test } from 'vitest'
import type { SessionId } from '../model/id.ts'
import { append, created, farAway, running, sent, testClock } from '../../test/kits/store.ts'
import { sqliteStore } from './sqlite.ts'

test('R12: what waits and what was left are one list: what does not fit comes with the next page', async () => {
  const store = sqliteStore({ directory: ':memory:', now: testClock().now })
  await store.heartbeat('node_1', farAway)
  // Two of each, fewer than a page has; all four are more.
  for (const name of ['b', 'd']) await append(store, ...running(name))
  for (const name of ['a', 'c'] as const)
    await append(store, created(`ses_${name}`), sent(`ses_${name}`, `turn_${name}`))
  const pages: SessionId[][] = []
  for (let after: SessionId | null = null; pages.length < 5;) {
    const { sessions, next } = await store.due(farAway * 4, 3, after)
    pages.push([...sessions])
    if (next === null) break
    after = next
  }
  expect(pages).toEqual([['ses_a', 'ses_b', 'ses_c'], ['ses_d']])
  await store.close()
})
