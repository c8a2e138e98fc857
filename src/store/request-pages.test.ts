import { expect, onTestFinished, test } from 'vitest'
import { sqliteStore } from './sqlite.ts'

test('R11: an agent with many requests elsewhere does not let pages pass over its requests here', async () => {
  const store = sqliteStore({ directory: ':memory:', now: () => 0 })
  onTestFinished(() => store.close())
  store.db.exec(`insert into places (id, path) values (1, '/elsewhere'), (2, '/here')`)
  const insert = store.db.prepare(
    `insert into requests (seq, turn, agent, place, framed, look, ended, failed, unseen)
      values (?1, 'turn_' || ?1, ?2, ?3, 0, 0, 1, 0, 0)`,
  )
  for (let seq = 10_000; seq < 12_100; seq += 1) insert.run(seq, 'busy', 1)
  for (const [seq, agent] of [
    [3000, 'calm'],
    [4000, 'calm'],
    [5000, 'busy'],
  ] as const)
    insert.run(seq, agent, 2)
  const seen: number[] = []
  let before: number | null = null
  do {
    const ask = { agents: ['busy', 'calm'], dir: '/here', before }
    const page = await store.lists.roots(ask, 2)
    seen.push(...page.roots.map(({ openedSeq }) => openedSeq))
    before = page.next
  } while (before !== null)
  expect(seen).toEqual([5000, 4000, 3000])
})
