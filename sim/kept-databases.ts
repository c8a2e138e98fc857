/**
 * Databases in memory that plans use one after another. Making one, with all its statements, takes as long as half of
 * a short plan. What is given out is as a new one: its tables are empty, and nobody else has it.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { openDatabase } from '../src/store/directory.ts'
import { emptyViews } from '../src/store/rebuild.ts'
import { viewTables } from '../src/store/schema.ts'

/** What a database is used for: what one use adds to it, such as triggers, the other does not meet. */
export type Use = 'plain' | 'watched'

const free: Record<Use, Kept[]> = { plain: [], watched: [] }

class Kept {
  readonly db = openDatabase(':memory:')
  /** A plan that prepares a text again gets a second statement, as it would otherwise. */
  readonly #statements = new Map<string, StatementSync[]>()
  readonly #given = new Map<string, number>()
  readonly #clear: StatementSync[]

  constructor(use: Use) {
    const { db } = this
    this.#clear = listOthers(db).map((table) => db.prepare(`delete from ${table}`))
    const prepare = db.prepare.bind(db)
    db.prepare = (sql) => {
      const nth = this.#given.get(sql) ?? 0
      this.#given.set(sql, nth + 1)
      let same = this.#statements.get(sql)
      if (same === undefined) this.#statements.set(sql, (same = []))
      return (same[nth] ??= prepare(sql))
    }
    db.close = () => {
      this.#empty()
      free[use].push(this)
    }
  }

  #empty(): void {
    if (this.db.isTransaction) this.db.exec('rollback')
    emptyViews(this.db)
    for (const statement of this.#clear) statement.run()
    this.#given.clear()
  }
}

/** Tables that are no views: `emptyViews` leaves them. */
const listOthers = (db: DatabaseSync): string[] =>
  db
    .prepare(
      `select name from sqlite_schema where type = 'table' and name not like 'keyword%' and name <> 'folded'`,
    )
    .all()
    .map((row) => String(row['name']))
    .filter((name) => !viewTables.includes(name))

export const takeDatabase = (use: Use): DatabaseSync => (free[use].pop() ?? new Kept(use)).db
