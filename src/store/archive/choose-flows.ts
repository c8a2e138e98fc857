/**
 * Which flows can leave the log, and which of its rows with them. Whatever is left behind by mistake only takes room,
 * and what is moved is read from its segment: so nothing depends on a choice, and it may be made while others work.
 *
 * A flow stays while one of its turns lives or ended too late; while one of its sessions is not archived, has mail or
 * drafts, or has a fork that is not archived; while a message of its own waits. A session that a call made ends with
 * that call. The session of a client is only its address, and keeps nothing here unless a program has it open.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Event } from '../../model/event.ts'
import type { Millis } from '../../model/id.ts'
import { canMove, type MovedTurn, type TurnLine } from './moved-lines.ts'
import type { SegmentRow } from './segment-file.ts'
import { readWhole, TimelineWindows } from './timeline-windows.ts'

/** `turns` are those whose lines are moved too, oldest first; `sessions` have the row on their timelines. */
export type ChosenFlow = {
  flow: string
  turns: readonly MovedTurn[]
  rows: (SegmentRow & { sessions: ReadonlySet<string> })[]
  units: number
}

/** Those that were moved are among them. */
const rootsPerPage = 500

function prepare(db: DatabaseSync) {
  return {
    roots: db.prepare(
      `select r.seq as seq, t.flow as flow
        from (select seq, turn from requests where seq > ?1 order by seq limit +?3) r
          left join turns t on t.id = r.turn and t.live = 0 and t.opened_at < ?2
        order by r.seq`,
    ),
    turns: db.prepare(
      `select t.id as id, t.session as session, t.flow as flow, t.caller as caller,
          t.caller_turn as callerTurn, t.state as state, t.live as live, t.opened_seq as opened,
          t.ended_seq as ended
        from turns t where t.id = 'turn_' || substr(?1, 6) or (t.flow = ?1 and t.caller is not null)
          or t.id in (select m.turn from messages m where m.flow = ?1 and m.sender is not null)
        order by t.opened_seq`,
    ),
    endedAt: db.prepare('select at from log where seq >= ? order by seq limit 1'),
    session: db.prepare(
      `select s.kind as kind, s.archived as archived,
          coalesce((select waiting from inboxes where session = s.id), 0) as waiting,
          exists (select 1 from messages where state = 'draft' and owner = s.id) as drafts,
          coalesce((select open from clients where session = s.id), 0) as open,
          exists (select 1 from sessions f where f.fork_of = s.id and f.fork_of is not null
            and f.archived is null) as forked
        from sessions s where s.id = ?`,
    ),
    waiting: db.prepare(
      `select 1 from messages where flow = ? and flow is not null and (waiting = 1 or state = 'draft') limit 1`,
    ),
  }
}
type Statements = ReturnType<typeof prepare>

type FlowTurn = TurnLine & {
  session: string
  caller: string | null
  opened: number
  ended: number | null
}
type SessionState = Record<'waiting' | 'drafts' | 'open' | 'forked', number> & {
  kind: string
  archived: string | null
}

/** Oldest first. Gives null after every flow that stays, and while it reads, so that others may run in between. */
export function* chooseFlows(
  db: DatabaseSync,
  endedBefore: Millis,
  windows = new TimelineWindows(db),
): Generator<ChosenFlow | null> {
  const sql = prepare(db)
  for (let after = 0; ;) {
    const roots = sql.roots.all(after, endedBefore, rootsPerPage) as { seq: number; flow: string | null }[]
    for (const { seq, flow } of roots) {
      after = seq
      if (flow === null) continue
      const judged = judgeFlow(sql, flow, endedBefore)
      yield judged === null ? null : yield* gatherRows(windows, judged, endedBefore)
    }
    if (roots.length < rootsPerPage) return
    yield null
  }
}

type Judged = {
  flow: string
  turns: readonly FlowTurn[]
  sessions: ReadonlyMap<string, SessionState>
  last: number
}

/** Null for one that stays. */
function judgeFlow(sql: Statements, flow: string, endedBefore: Millis): Judged | null {
  const turns = sql.turns.all(flow) as FlowTurn[]
  if (turns.some(({ state, live, ended }) => state !== 'ended' || live === 1 || ended === null)) return null
  const last = turns.reduce((most, { ended }) => Math.max(most, ended ?? 0), 0)
  const { at = Infinity } = (sql.endedAt.get(last) as { at: number } | undefined) ?? {}
  if (at >= endedBefore || sql.waiting.get(flow) !== undefined) return null
  const sessions = new Map<string, SessionState>()
  for (const { session, caller } of turns)
    for (const id of caller === null ? [session] : [session, caller]) {
      const state = sessions.get(id) ?? (sql.session.get(id) as SessionState | undefined)
      if (state === undefined || isNeeded(state)) return null
      sessions.set(id, state)
    }
  return { flow, turns, sessions, last }
}

const isNeeded = ({ kind, archived, waiting, drafts, open, forked }: SessionState): boolean =>
  kind === 'external'
    ? open === 1
    : (kind !== 'ephemeral' && archived === null) || waiting > 0 || drafts === 1 || forked === 1

/** Rows all of whose events belong to the flow, or to the life of a session that ended with it. */
function* gatherRows(
  windows: TimelineWindows,
  { flow, turns, sessions, last }: Judged,
  endedBefore: Millis,
): Generator<null, ChosenFlow> {
  const ids = new Set(turns.map(({ id }) => id))
  const keys = new Set<string>([...ids, flow])
  const first = turns.reduce((least, { opened }) => Math.min(least, opened), Infinity)
  const belongs = (event: Event): boolean => {
    const state = sessions.get(event.session)
    if (state === undefined) return false
    if (event.turn !== null) return ids.has(event.turn)
    if ('flow' in event && event.flow !== null) return event.flow === flow
    return state.kind !== 'external'
  }
  const found = new Map<number, ChosenFlow['rows'][number]>()
  const entries = new Map<string, number | null>()
  for (const [session, { kind }] of sessions) {
    const wanted = { session, life: kind !== 'external', first, last, keys }
    yield* windows.reach(wanted)
    for (const row of windows.list(wanted)) {
      if (found.has(row.seq)) continue
      const events = readWhole(row)
      for (const event of events ?? [])
        if (event.type === 'turn.ended') entries.set(event.turn ?? '', event.entry?.n ?? null)
      if (row.at >= endedBefore || events?.every(belongs) !== true) continue
      const on = new Set(events.map((event) => event.session))
      found.set(row.seq, { ...row, count: events.length, sessions: on })
    }
    windows.take(session, found)
  }
  const rows = [...found.values()]
  const units = rows.reduce((sum, { events }) => sum + events.length, 0)
  const moved = new Set<string>()
  for (const turn of turns) if (canMove(turn, moved)) moved.add(turn.id)
  const lines = turns
    .filter(({ id }) => moved.has(id))
    .map(({ id, session }) => ({ id, session, entry: entries.get(id) }))
  return { flow, turns: lines, rows, units }
}
