/** Conversations in a database of their own, and what is selected from them. */
import type { EntrySelect, EntryPage } from '../../src/runtime/kernel/store-port.ts'
import { DatabaseSync } from 'node:sqlite'
import { selectEntries } from '../../src/store/entries.ts'
import { indexEntries, keywordSchema } from '../../src/store/keyword-index.ts'
import { migrations } from '../../src/store/schema.ts'

export type Said = { text: string; tokens?: number; at?: number; steps?: boolean }

export function fresh(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  for (const step of migrations) db.exec(step)
  if (!migrations.some((step) => step.includes('keyword_grams'))) db.exec(keywordSchema)
  return db
}

/** Appends as turns do: a question and an answer, then the index. */
export function append(db: DatabaseSync, said: readonly Said[], session = 'ses_a'): void {
  const insert = db.prepare(
    `insert into entries (session, n, role, at, text, tokens, sender, turn, has_steps)
      values (?, ?, ?, ?, ?, ?, null, ?, ?)`,
  )
  db.exec('begin')
  for (const [index, { text, tokens = 1, at = index + 1, steps = false }] of said.entries()) {
    insert.run(
      session,
      index + 1,
      index % 2 === 0 ? 'user' : 'assistant',
      at,
      text,
      tokens,
      `turn_${index >> 1}`,
      steps ? 1 : 0,
    )
    if (index % 2 === 1) indexEntries(db, session, index + 1)
  }
  db.exec('commit')
}

export function makeHistory(said: readonly Said[]): DatabaseSync {
  const db = fresh()
  append(db, said)
  return db
}

export const select = (
  db: DatabaseSync,
  filter: EntrySelect['filter'],
  more: Partial<EntrySelect> = {},
): EntryPage => selectEntries(db, 'ses_a', { filter, now: 1000, tokensMax: 1_000_000, ...more })
export const numbers = (page: EntryPage): number[] => page.entries.map(({ n }) => n)
export const countDropped = (page: EntryPage): Record<string, number> =>
  Object.fromEntries(Object.entries(page.dropped).filter(([, count]) => count > 0))
export const many = (count: number, special: Record<number, string> = {}): Said[] =>
  Array.from({ length: count }, (_, index) => ({
    text: special[index + 1] ?? `message ${index + 1} about nothing much`,
  }))
