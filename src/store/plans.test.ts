import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { prepareWrites } from './write-statements.ts'
import { selectEntries } from './entries.ts'
import { prepareFacts } from './fact-statements.ts'
import { prepareLists } from './lists.ts'
import { prepareReads } from './reads.ts'
import { migrations } from './schema.ts'

/** Collects the text of every statement that is prepared through it. */
class Watched extends DatabaseSync {
  readonly texts: string[] = []
  override prepare(sql: string): StatementSync {
    this.texts.push(sql)
    return super.prepare(sql)
  }
}

function watched(): Watched {
  const db = new Watched(':memory:')
  for (const step of migrations) db.exec(step)
  return db
}

/**
 * Steps of a plan that read a whole table or index. A scan of a list in the statement, of a common table
 * expression or of a search index reads only what it must.
 */
function findScans(db: DatabaseSync, sql: string): string[] {
  const tables = new Set(
    db
      .prepare(`select name from sqlite_schema where type = 'table' and sql not like 'create virtual%'`)
      .all()
      .map((row) => row['name'] as string),
  )
  const aliases = new Set(tables)
  for (const [, table = '', alias = ''] of sql.matchAll(/\b(?:from|join)\s+(\w+)(?:\s+(?:as\s+)?(\w+))?/gi))
    if (tables.has(table)) aliases.add(alias)
  return db
    .prepare(`explain query plan ${sql}`)
    .all()
    .map((row) => row['detail'] as string)
    .filter((detail) => {
      const scanned = /^SCAN (\w+)/.exec(detail)?.[1]
      return scanned !== undefined && aliases.has(scanned) && !/^SCAN \w+ VIRTUAL TABLE/.test(detail)
    })
}

const prepareAll: Record<string, (db: DatabaseSync) => unknown> = {
  facts: prepareFacts,
  writes: prepareWrites,
  reads: prepareReads,
  lists: prepareLists,
  entries: (db) => selectEntries(db, 'ses_a', { filter: {}, now: 0, tokensMax: 1 }),
}

test.each(Object.keys(prepareAll))('R11: no statement of the %s reads a whole table', (name) => {
  const db = watched()
  prepareAll[name]?.(db)
  const texts = [...db.texts]
  expect(texts.length).toBeGreaterThan(3)
  expect(texts.flatMap((sql) => findScans(db, sql).map((scan) => `${scan}: ${sql}`))).toEqual([])
})

/** Walks through these go through what is open, or take the first that there is. */
const walked = new RegExp(
  [
    'SEARCH (a|log) USING|waiter>|turns_session|turns_pending|questions_open|clients_quiet',
    'messages_\\w+|sessions_resting|sessions_addresses',
  ].join('|'),
)

/** Steps that go through an index from one end, unless a number in the statement says how far. */
function findWalks(db: DatabaseSync, sql: string): string[] {
  // Inside of a subquery, or as the place of one row.
  const bounded = /\blimit (\d{3,}|\?\d)\)|\blimit 1 offset/.test(sql)
  return db
    .prepare(`explain query plan ${sql}`)
    .all()
    .map((row) => row['detail'] as string)
    .filter((detail) => /^SEARCH \w+ USING (?!.*=\?).*[<>]\(?\?/.test(detail))
    .filter((detail) => !bounded && !walked.test(detail))
}

test('R11: no list goes through all sessions, requests or calls for those that fit', () => {
  const db = watched()
  prepareLists(db)
  expect(db.texts.flatMap((sql) => findWalks(db, sql).map((walk) => `${walk}: ${sql}`))).toEqual([])
})

test.each([
  `select id from sessions s indexed by sessions_listed
    where s.kind <> 'ephemeral' and s.created_at >= 0 and instr(s.id, ?1) > 0`,
  'select id from sessions where id > ?1 and agent = ?2',
])('and a statement that goes through all is found: %s', (sql) =>
  expect(findWalks(watched(), sql)).not.toEqual([]),
)

test('R11: none of them sorts more than it must, but by a plan that is named here', () => {
  const db = watched()
  for (const prepare of Object.values(prepareAll)) prepare(db)
  const sorting = [...db.texts].filter((sql) =>
    db
      .prepare(`explain query plan ${sql}`)
      .all()
      .some((row) => (row['detail'] as string).startsWith('USE TEMP B-TREE')),
  )
  for (const sql of sorting) expect(sql).toMatch(/json_each|t\.flow = \?|root <> seq|pending = 1|live = 1/)
})

test.each([
  'select * from turns where outcome = ?',
  'select * from turns t where t.outcome = ?',
  'select count(*) from sessions',
  `select * from turns where session = 'a'`,
  'select s.id from nodes n join sessions s on s.agent = n.id',
])('and a statement that scans is found: %s', (sql) => expect(findScans(watched(), sql)).not.toEqual([]))

test.each([
  'select value from json_each(?)',
  'with recursive c(n) as (select 1 union select n + 1 from c where n < 9) select n from c',
  'select 1',
  'select * from turns where id = ?',
])('and one that does not is left alone: %s', (sql) => expect(findScans(watched(), sql)).toEqual([]))
