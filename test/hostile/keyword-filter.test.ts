/**
 * Keyword filters from outside: bounded where they come in, and no stall of the process while they are used.
 */
import { expect, test } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite.ts'
import { longestStall } from '../kits/linear.ts'
import { world } from '../kits/world.ts'

test.each([
  [
    '20,000 keywords',
    { keywords: Array.from({ length: 20_000 }, (_, index) => `keyword ${index}`) },
    'context.keywords',
    'at most 100 keywords',
  ],
  [
    'a keyword of 100 kB',
    { keywords: ['x'.repeat(100_000)] },
    'context.keywords.0',
    'at most 200 characters',
  ],
  [
    'a thousand roles',
    { roles: Array.from({ length: 1000 }, () => 'user') },
    'context.roles',
    'at most 16 roles',
  ],
])('%s are refused with the field and the bound', async (_name, context, field, says) => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) =>
          JSON.stringify((await turn.tool('sub_agent', { agent_name: 'b', task: 'x', context })).value),
      },
      b: {},
    },
  })
  const { output } = await w.run('a', 'go')
  expect(output).toContain(`${field}:`)
  expect(output).toContain(says)
})

test('100 hostile keywords over 11 MB of conversation let the process answer meanwhile', async () => {
  const store = sqliteStore({ directory: ':memory:', now: () => 1000 })
  const keywords = Array.from({ length: 100 }, (_, index) => `${'a'.repeat(150 + (index % 40))}b${index}`)
  const insert = store.db.prepare(
    `insert into entries (session, n, role, at, text, tokens, sender, turn, has_steps)
     values ('ses_a', ?, 'user', 1, ?, 1, null, 'turn_1', 0)`,
  )
  for (let n = 1; n <= 11; n += 1) insert.run(n, 'a'.repeat(1_000_000))
  let total = 0
  const stall = await longestStall(async () => {
    total =
      (await store.entries('ses_a', { filter: { keywords }, now: 1000, tokensMax: 4000 })).dropped[
        'keywords'
      ] ?? 0
  })
  expect(total).toBe(11)
  expect(stall).toBeLessThan(100)
  await store.close()
})
