/** R10: compares the views of the store with what the simulator itself derived from the log, column by column. */
import type { DatabaseSync } from 'node:sqlite'
import { viewTables } from '../src/store/schema.ts'
import { joinKey, type Cell, type OwnFold, type Row } from './own-fold.ts'

type Reader = { table: string; keys: readonly string[]; all: () => Row[] }

/** Also says which tables there are, so that a new view cannot be forgotten here. */
export function readViews(db: DatabaseSync): Reader[] {
  return viewTables.map((table) => {
    const rows = db.prepare(`select * from ${table}`)
    const keys = db
      .prepare('select name from pragma_table_info(?) where pk > 0 order by pk')
      .all(table)
      .map((column) => column['name'] as string)
    return { table, keys, all: () => rows.all() as Row[] }
  })
}

/** The first difference, or null. */
export function compareViews(views: readonly Reader[], fold: OwnFold): string | null {
  const derived = fold.render()
  for (const { table, keys, all } of views) {
    const expected = derived.get(table)
    if (expected === undefined) return `${table}: the simulator does not derive this view`
    const rows = all()
    for (const row of rows) {
      const key = joinKey(...keys.map((column) => row[column] as Cell))
      const wanted = expected.get(key)
      if (wanted === undefined) return `${table}: ${renderKey(key)} is in the view, and not in the log`
      const column = Object.keys(row).find((name) => row[name] !== wanted[name])
      if (column !== undefined)
        return (
          `${table}.${column} of ${renderKey(key)} is ${renderCell(row[column])}; ` +
          `the log says ${renderCell(wanted[column])}`
        )
    }
    if (rows.length !== expected.size) {
      const found = new Set(rows.map((row) => joinKey(...keys.map((column) => row[column] as Cell))))
      const missing = [...expected.keys()].find((key) => !found.has(key)) ?? ''
      return `${table}: ${renderKey(missing)} is in the log, and not in the view`
    }
  }
  return null
}

const renderKey = (key: string): string => key.split('\u0000').join(' ')
const renderCell = (cell: Cell | undefined): string => JSON.stringify(cell) ?? 'nothing'
