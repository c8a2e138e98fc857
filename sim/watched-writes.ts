/**
 * Watches which rows of the views a transaction writes. Every row belongs to a key, and two works that write the
 * same row must share it, or one would undo the other.
 */
import type { DatabaseSync } from 'node:sqlite'

/** The keys that guard a row, one of which must be held; `x` is `new` or `old`. */
const guards: Readonly<Record<string, (x: string) => string>> = {
  log_sessions: (x) => `'session:' || ${x}.session`,
  sessions: (x) => `'session:' || ${x}.id`,
  turns: (x) => `'session:' || ${x}.session`,
  // While a message waits it belongs to its inbox; a new one may have an id that nobody else can know.
  messages: (x) =>
    x === 'new'
      ? `'message:' || new.id || char(0) || 'session:' || coalesce(new.receiver, new.owner)`
      : `iif(old.waiting, 'session:' || old.receiver, 'message:' || old.id)`,
  inboxes: (x) => `'session:' || ${x}.session`,
  refused: (x) => `'session:' || ${x}.caller`,
  waits: (x) => `'session:' || ${x}.waiter`,
  traced: (x) => `'session:' || ${x}.session`,
  notices: (x) => `'session:' || ${x}.session`,
  announced: (x) => `'session:' || ${x}.session`,
  woken: (x) => `'session:' || ${x}.session`,
  clients: (x) => `'session:' || ${x}.session`,
  questions: (x) => `'session:' || (select session from turns where id = ${x}.turn)`,
  permissions: (x) => `'session:' || ${x}.session`,
  seen: (x) => `'session:' || (select session from turns where id = 'turn_' || substr(${x}.flow, 6))`,
  entries: (x) => `'session:' || ${x}.session`,
  requests: (x) => `'session:' || (select session from turns where id = ${x}.turn)`,
}

type Write = { table: string; keys: string[] }

type Watch = ReturnType<typeof startWatch>
const watched = new WeakMap<DatabaseSync, Watch>()

/** Once for each database. */
export function watchWrites(db: DatabaseSync): Watch {
  let watch = watched.get(db)
  if (watch === undefined) watched.set(db, (watch = startWatch(db)))
  return watch
}

function startWatch(db: DatabaseSync) {
  let writes: Write[] = []
  db.function('watch_write', { varargs: true }, (table, keys) => {
    writes.push({ table: String(table), keys: String(keys).split('\u0000') })
    return null
  })
  for (const [table, guard] of Object.entries(guards))
    for (const [when, rows] of Object.entries({ insert: ['new'], update: ['old', 'new'], delete: ['old'] }))
      db.exec(
        `create temp trigger watch_${table}_${when} after ${when} on ${table} begin
          ${rows.map((x) => `select watch_write('${table}', ${guard(x)});`).join(' ')} end`,
      )
  return {
    begin: (): void => void (writes = []),
    /** The first row that was written without its key. */
    findOutside(isLocked: (key: string) => boolean): string | null {
      const outside = writes.find(({ keys }) => !keys.some(isLocked))
      return outside === undefined ? null : `a row of ${outside.table} without ${outside.keys.join(' or ')}`
    },
  }
}
