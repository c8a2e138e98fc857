/**
 * Lists of sessions. Each page is read by the index that fits what was asked best, and looks through a bounded number
 * of rows (R11): it may be short, and `next` says where to go on.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { SessionId, TurnId } from '../model/id.ts'
import type { ListAsk, Lists, SessionListing, SessionPage } from '../runtime/kernel/lists-port.ts'
import { arrays, selected, sessionAt, sessionColumns, type RawArray } from './rows.ts'

const session = selected('s', sessionColumns)

const isLive = 'exists (select 1 from turns where live = 1 and session = s.id)'
const newestEntry = (column: string): string =>
  `(select ${column} from entries where session = s.id order by n desc limit 1)`

/**
 * `ses_calls-…` is where a session that a connected program runs makes its calls
 * (`runtime/sessions/client-turn.ts`): nobody writes to it, so it is in no list.
 */
export const isListed = (s: string): string => `${s}.kind <> 'ephemeral' and ${s}.id not glob 'ses_calls-*'`
const isOpen = `${isListed('w')} and w.archived is null`

/** How a page walks: newest first, from the cursor on. ?3 is what it is asked for. */
const walks = {
  all: `sessions w indexed by sessions_listed where ${isListed('w')}`,
  open: `sessions w indexed by sessions_open where ${isOpen}`,
  agent: `sessions w indexed by sessions_open_agent where ${isOpen} and w.agent = ?3`,
  dir: `sessions w indexed by sessions_open_cwd where ${isOpen} and w.cwd = ?3`,
  parent: `sessions w indexed by sessions_below where ${isListed('w')} and w.parent = ?3 and w.parent is not null`,
  active: `sessions w where ${isListed('w')}
    and w.id in (select session from turns where live = 1 and session > '')`,
}
type Walk = keyof typeof walks

/** R11: how many sessions one page looks through for those that were asked for. */
const lookedThroughMax = 2000

const newestFirst = 'and (w.created_at, w.id) < (?1, ?2) order by w.created_at desc, w.id desc limit'

const prepareWalk = (db: DatabaseSync, walk: string) => ({
  page: arrays(
    db.prepare(`select ${session}, ${isLive},
        max(s.created_at, coalesce(${newestEntry('at')}, 0),
          coalesce((select max(opened_at) from turns where live = 1 and session = s.id), 0)),
        (select archived from sessions p where p.id = s.parent), ${newestEntry('turn')},
        coalesce((select waiting from inboxes where session = s.id), 0)
      from (select w.* from ${walk} ${newestFirst} ${lookedThroughMax}) s
      where ${walk.includes('?3') ? '' : '?3 is null and '}(?4 is null or s.cwd = ?4)
        and (?5 is null or s.agent = ?5) and (?6 is null or s.parent = ?6)
        and (s.archived is null or ?7 = 1) and (?8 is null or ?8 = ${isLive}) limit +?9`),
  ),
  /** Where a page that looked through all that it may has ended. */
  floor: db.prepare(
    `select w.created_at as createdAt, w.id as id from ${walk} ${walk.includes('?3') ? '' : 'and ?3 is null '}
      ${newestFirst} 1 offset ${lookedThroughMax - 1}`,
  ),
})

/** By what leaves the least. Those that are archived too are only listed by their parent or by time. */
function chooseWalk({ active, parent, agent, dir, archived }: ListAsk): [Walk, string | null] {
  if (active === true) return ['active', null]
  if (parent !== undefined) return ['parent', parent]
  if (archived) return ['all', null]
  if (agent !== undefined) return ['agent', agent]
  return dir === undefined ? ['open', null] : ['dir', dir]
}

export function sessionLists(
  db: DatabaseSync,
): Pick<Lists, 'listing' | 'addresses' | 'children' | 'restingSince'> {
  const pages = Object.fromEntries(
    Object.entries(walks).map(([name, walk]) => [name, prepareWalk(db, walk)]),
  ) as Record<Walk, ReturnType<typeof prepareWalk>>
  const { addresses, children, resting } = prepareOthers(db)
  const toRows = (raws: unknown) => (raws as RawArray[]).map((raw) => sessionAt(raw, 0))
  return {
    async listing(ask, limit): Promise<SessionPage> {
      const [walk, of] = chooseWalk(ask)
      const { dir = null, agent = null, parent = null, archived, active } = ask
      const from = [ask.before?.createdAt ?? Number.MAX_SAFE_INTEGER, ask.before?.id ?? '', of] as const
      const { page, floor } = pages[walk]
      const raws = page.all(
        ...from,
        dir,
        agent,
        parent,
        archived ? 1 : 0,
        active === undefined ? null : active ? 1 : 0,
        limit,
      )
      const sessions = (raws as unknown as RawArray[]).map(toListing)
      const last = sessions.at(-1)?.row
      if (sessions.length === limit && last !== undefined)
        return { sessions, next: { createdAt: last.createdAt, id: last.id } }
      const next = floor.get(...from) as SessionPage['next'] | undefined
      return { sessions, next: next == null ? null : { ...next } }
    },
    addresses: async (limit) => toRows(addresses.all(limit)),
    children: async (parent) => toRows(children.all(parent)),
    restingSince: async (before, limit) =>
      (resting.all(before, limit) as { id: SessionId }[]).map(({ id }) => id),
  }
}

const prepareOthers = (db: DatabaseSync) => ({
  /** Their title is the address. */
  addresses: arrays(
    db.prepare(
      `select ${session} from sessions s indexed by sessions_addresses
        where s.kind = 'external' and s.archived is null and instr(s.title, '@') > 0 and s.created_at >= 0
          and s.id glob 'ses_client-*'
        order by s.created_at desc limit +?`,
    ),
  ),
  children: arrays(
    db.prepare(
      `select ${session} from sessions s
        where s.parent = ? and s.parent is not null and s.kind <> 'ephemeral' order by s.created_at, s.id`,
    ),
  ),
  resting: db.prepare(`select s.id as id from sessions s indexed by sessions_resting
    where s.parent is not null and s.kind = 'persistent' and s.archived is null and s.created_at < ?1
      and coalesce(${newestEntry('at')}, 0) < ?1 and not ${isLive}
      and not exists (select 1 from inboxes where session = s.id and waiting > 0)
      and not exists (select 1 from messages where state = 'draft' and owner = s.id)
      and not exists (select 1 from sessions c where c.parent = s.id and c.parent is not null
        and c.kind <> 'ephemeral' and c.kind = 'persistent' and c.archived is null)
    limit +?2`),
})

const width = sessionColumns.length

const toListing = (raw: RawArray): SessionListing => ({
  row: sessionAt(raw, 0),
  active: raw[width] === 1,
  updatedAt: raw[width + 1] as number,
  parentArchived: (raw[width + 2] ?? null) !== null,
  lastTurn: raw[width + 3] as TurnId | null,
  buffered: raw[width + 4] as number,
})
