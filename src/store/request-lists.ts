/**
 * Lists of requests. Each page is read by the index that fits what was asked best, and looks through a bounded number
 * of rows (R11): it may be short, and `next` says where to go on.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { TurnId } from '../model/id.ts'
import type { Lists, RootPage, RootsAsk } from '../runtime/kernel/lists-port.ts'

/** How a page walks: newest first, from the cursor on. ?2 is an agent or a place. */
const walks = {
  all: 'requests w indexed by requests_listed where w.look = 0 and ?2 is null',
  agent: 'requests w indexed by requests_agent where w.look = 0 and w.agent = ?2',
  place: 'requests w indexed by requests_place where w.look = 0 and w.place = ?2',
  failed: 'requests w indexed by requests_failed where w.look = 0 and w.failed = 1 and ?2 is null',
  unseen: 'requests w indexed by requests_unseen where w.look = 0 and w.unseen = 1 and ?2 is null',
  live: `requests w where w.look = 0 and ?2 is null and w.seq in (select first.opened_seq from turns t
    join turns first on first.id = 'turn_' || substr(t.flow, 6) where t.live = 1 and t.session > '')`,
}
type Walk = keyof typeof walks

/** R11: how many requests one page looks through for those that were asked for. */
const lookedThroughMax = 2000
/** R11: with more directories than this in a project, requests are looked through by time, and whoever asks judges. */
const walksMax = 100

/** Where a turn was moved, only its own line names it. */
export const requestTurn = 'coalesce(v.id, r.turn)'

const newestFirst = 'and w.seq < ?1 order by w.seq desc limit'

const prepareWalk = (db: DatabaseSync, walk: string) => ({
  page: db.prepare(
    `select ${requestTurn} as turn, r.seq as openedSeq, s.seq is not null as seen
      from (select w.* from ${walk} ${newestFirst} ${lookedThroughMax}) r left join moved_turns v on v.seq = r.seq
        left join seen s on s.flow = 'flow_' || substr(${requestTurn}, 6)
      where (?3 is null or r.agent in (select value from json_each(?3)))
        and (?4 is null or r.place in (select value from json_each(?4)))
        and (?5 is null or r.ended = ?5) limit +?6`,
  ),
  /** Where a page that looked through all that it may has ended. */
  floor: db.prepare(`select w.seq as seq from ${walk} ${newestFirst} 1 offset ${lookedThroughMax - 1}`),
})
type Pages = Record<Walk, { page: StatementSync; floor: StatementSync }>
type Row = { turn: TurnId; openedSeq: number; seen: number }

export function requestLists(db: DatabaseSync): Lists['roots'] {
  const pages = Object.fromEntries(
    Object.entries(walks).map(([name, walk]) => [name, prepareWalk(db, walk)]),
  ) as Pages
  // What is below a directory begins with it and a slash, which `0` comes after.
  const places =
    db.prepare(`select id from places where path = ?1 union all select id from (select id from places
    where path > rtrim(?1, '/') || '/' and path < rtrim(?1, '/') || '0' limit ${walksMax})`)
  const findPlaces = (dir: string): number[] => (places.all(dir) as { id: number }[]).map(({ id }) => id)
  return async (ask, limit) => {
    const within = ask.dir === undefined ? null : findPlaces(ask.dir)
    if (within?.length === 0) return { roots: [], next: null }
    return readPage(pages, ask, (within?.length ?? 0) > walksMax ? null : within, limit)
  }
}

/** By what leaves the least; agents and directories one by one, each with its own walk. */
function chooseWalks({ state, agents }: RootsAsk, places: number[] | null): [Walk, string | number | null][] {
  if (state === 'live' || state === 'failed' || state === 'unseen') return [[state, null]]
  if (agents !== undefined) return agents.map((agent) => ['agent', agent])
  return places === null ? [['all', null]] : places.map((place) => ['place', place])
}

function readPage(pages: Pages, ask: RootsAsk, places: number[] | null, limit: number): RootPage {
  const before = ask.before ?? Number.MAX_SAFE_INTEGER
  const agents = ask.agents === undefined ? null : JSON.stringify(ask.agents)
  const within = places === null ? null : JSON.stringify(places)
  const ended = ask.state === 'ended' ? 1 : null
  let floor = 0
  const found = chooseWalks(ask, places).flatMap(([walk, of]) => {
    const rows = pages[walk].page.all(before, of, agents, within, ended, limit) as Row[]
    // One that is full goes on below its last; one that is not, below what it looked through.
    const last = rows.length === limit ? rows.at(-1)?.openedSeq : pages[walk].floor.get(before, of)?.['seq']
    floor = Math.max(floor, Number(last ?? 0))
    return rows
  })
  const roots = found
    .filter(({ openedSeq }) => openedSeq >= floor)
    .sort((a, b) => b.openedSeq - a.openedSeq)
    .slice(0, limit)
    .map(({ seen, ...row }) => ({ ...row, seen: seen === 1 }))
  const next = roots.length === limit ? (roots.at(-1)?.openedSeq ?? null) : floor
  return { roots, next: next === 0 ? null : next }
}
