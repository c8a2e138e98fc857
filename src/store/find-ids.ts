/**
 * Ids by a part of them, newest first: by how they end, as people are shown them, by how they begin, and those of the
 * newest that contain it. Each is bounded (R11); so a part from the middle of an old id does not find it.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { SessionId } from '../model/id.ts'
import type { Lists } from '../runtime/kernel/lists-port.ts'
import { requestTurn } from './request-lists.ts'
import { isListed } from './session-lists.ts'

/** As long as the ends that are indexed: what is shown of an id has as many characters or more. */
const endLength = 6
/** R11: how many of the newest are looked through, and how many that begin as asked. */
const newestMax = 2000

/** What an id is in its table: where it stands, how it is written to people, and what orders it. */
type Kind = {
  from: string
  /** The column, the table's own prefix in it, and the prefix of the id. */
  column: string
  stored: string
  shown: string
  order: string
  where: string
  /** All of them, newest first, with the id as `column` names it; null where another kind's has them. */
  newest: string | null
  ends: string
  /** How that index has them, where not by their ids. */
  endsOrder?: string
}

const kinds = {
  session: {
    from: 'sessions s',
    column: 's.id',
    stored: 'ses_',
    shown: 'ses_',
    order: 's.created_at',
    where: isListed('s'),
    newest: 'sessions s indexed by sessions_listed where s.created_at >= 0',
    ends: 'indexed by sessions_ends',
  },
  flow: {
    from: 'turns t',
    column: 't.id',
    stored: 'turn_',
    shown: 'flow_',
    order: 't.opened_seq',
    where: `t.caller is null and t.id = 'turn_' || substr(t.flow, 6)`,
    newest: `(select r.seq as opened_seq, ${requestTurn} as id, 'flow_' || substr(${requestTurn}, 6) as flow,
        null as caller from requests r left join moved_turns v on v.seq = r.seq
      where r.seq > 0 order by r.seq desc limit ${newestMax}) t where t.opened_seq > 0`,
    ends: 'indexed by turns_ends',
  },
  movedFlow: {
    from: 'moved_turns t',
    column: 't.id',
    stored: 'turn_',
    shown: 'flow_',
    order: 't.seq',
    where: 't.root = t.seq',
    newest: null,
    ends: 'indexed by moved_turns_ends',
    endsOrder: 't.seq',
  },
  movedCall: {
    from: 'moved_turns t',
    column: 't.id',
    stored: 'turn_',
    shown: 'call_',
    order: 't.seq',
    where: 't.above is not null',
    newest: 'moved_turns t indexed by moved_turns_calls where t.seq > 0',
    ends: 'indexed by moved_turns_ends',
    endsOrder: 't.seq',
  },
  call: {
    from: 'turns t',
    column: 't.id',
    stored: 'turn_',
    shown: 'call_',
    order: 't.opened_seq',
    where: 't.caller is not null',
    newest: 'turns t indexed by turns_calls where t.opened_seq > 0',
    ends: 'indexed by turns_ends',
  },
  refused: {
    from: 'refused r',
    column: 'r.call',
    stored: 'call_',
    shown: 'call_',
    order: 'r.seq',
    where: 'r.call is not null',
    newest: 'refused r indexed by refused_seq where r.seq > 0',
    ends: 'indexed by refused_ends',
  },
} satisfies Record<string, Kind>

type Row = { id: string; at: number }
type Finder = Record<'ends' | 'begins', StatementSync> & { contains: StatementSync | null }

/** ?1 is the part, as it is written in the table, ?2 how many are wanted. */
function prepareKind(
  db: DatabaseSync,
  { from, column, stored, shown, order, where, newest, ends, endsOrder = column }: Kind,
): Finder {
  const id = stored === shown ? column : `'${shown}' || substr(${column}, ${stored.length + 1})`
  const found = `select ${id} as id, ${order} as at from ${from}`
  return {
    ends: db.prepare(
      `${found} ${ends} where ${where} and substr(${column}, -${endLength}) = substr(?1, -${endLength})
        and substr(${column}, -length(?1)) = ?1 order by ${endsOrder} desc limit +?2`,
    ),
    begins: db.prepare(
      `select id, at from (select ${id} as id, ${order} as at, ${where} as fits from ${from}
          where ${column} >= ?1 and ${column} < ?1 || char(1114111) order by ${column} desc limit ${newestMax})
        where fits limit +?2`,
    ),
    contains:
      newest === null
        ? null
        : db.prepare(
            `select id, at from (select ${id} as id, ${order} as at from ${newest} and ${where}
                order by ${order} desc limit ${newestMax})
              where instr(id, ?1) > 0 limit +?2`,
          ),
  }
}

export function prepareFindIds(db: DatabaseSync): Pick<Lists, 'sessionsLike' | 'idsLike'> {
  const finders = Object.fromEntries(
    Object.entries(kinds).map(([name, kind]) => [name, prepareKind(db, kind)]),
  ) as Record<keyof typeof kinds, Finder>
  const questions = db.prepare(
    `select q.id as id from questions q indexed by questions_open join turns t on t.id = q.turn
      where q.answer is null and q.id > '' and t.state = 'running' and instr(q.id, ?1) > 0
      order by q.id desc limit +?2`,
  )
  const find = (names: readonly (keyof typeof kinds)[], part: string, limit: number): string[] => {
    const rows = names.flatMap((name) => findRows(kinds[name], finders[name], part, limit))
    const newest = new Map(rows.map((row) => [row.id, row.at]))
    return [...newest]
      .sort(([, a], [, b]) => b - a)
      .slice(0, limit)
      .map(([id]) => id)
  }
  return {
    sessionsLike: async (part, limit) => find(['session'], part, limit) as SessionId[],
    async idsLike(kind, part, limit) {
      if (kind === 'question') return (questions.all(part, limit) as { id: string }[]).map(({ id }) => id)
      return find(kind === 'flow' ? ['flow', 'movedFlow'] : ['call', 'movedCall', 'refused'], part, limit)
    },
  }
}

function findRows({ stored, shown }: Kind, finder: Finder, part: string, limit: number): Row[] {
  const written = part.startsWith(shown) ? stored + part.slice(shown.length) : part
  // What begins without the kind, as digits, begins so in the table after it.
  const begin = written.startsWith(stored) ? written : stored + written
  const rows = finder.contains?.all(part, limit) ?? []
  if (part.length >= endLength) rows.push(...finder.ends.all(written, limit))
  if (part !== '' && rows.length < limit) rows.push(...finder.begins.all(begin, limit))
  return rows as Row[]
}
