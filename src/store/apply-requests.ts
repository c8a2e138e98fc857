/**
 * Folds requests, the turns that flows begin with, as lists look for them: whom they asked, where they work, and how
 * they ended for the one who asked.
 */
import type { DatabaseSync } from 'node:sqlite'
import { externalAgent } from '../model/agent.ts'
import type { EventOf, OpeningMessage, Outcome } from '../model/event.ts'
import { isFailure, isLook, readRootEnd, type Made } from '../model/request-name.ts'

export function prepareRequestWrites(db: DatabaseSync) {
  const isClient = `s.kind is 'external'`
  return {
    open: db.prepare(
      `insert into requests (seq, turn, agent, place, framed, look, ended, failed, unseen)
        select ?1, ?2, iif(${isClient}, '', ?3), p.id, ${isClient}, iif(${isClient}, ?5, 0),
          iif(${isClient}, 0, ?6), iif(${isClient}, 0, ?7), iif(${isClient}, 0, ?7)
        from (select ?4 as session) a left join sessions s on s.id = a.session
          left join places p on p.path = s.cwd
        returning place, framed`,
    ),
    /** Where the session was just made, and is no client's. */
    openOwn: db.prepare(
      `insert into requests (seq, turn, agent, place, framed, look, ended, failed, unseen)
        values (?1, ?2, ?3, ?4, 0, 0, ?5, ?6, ?6)`,
    ),
    findPlace: db.prepare('select id from places where path = ?'),
    addPlace: db.prepare('insert into places (path) values (?) returning id'),
    place: db.prepare(
      'insert into places (path) select cwd from sessions where id = ? on conflict do nothing returning id',
    ),
    setPlace: db.prepare('update requests set place = ? where seq = ?'),
    setAgent: db.prepare(
      `update requests set agent = ?2
        where seq = (select opened_seq from turns where id = ?1) and framed = 1 and agent = ''`,
    ),
    end: db.prepare(
      `update requests set ended = 1, failed = ?2, framed = ?4,
          unseen = ?2 and not exists (select 1 from seen where flow = ?3)
        where seq = ?1 and ended = 0 returning framed`,
    ),
    endOwn: db.prepare(
      `update requests set ended = 1, failed = ?2,
          unseen = ?2 and not exists (select 1 from seen where flow = ?3)
        where seq = ?1 and ended = 0 and framed = 0`,
    ),
    isFramed: db.prepare('select framed from requests where seq = ?'),
    /** One that is over, and whose outcome is that of what it asked for. */
    framed: db.prepare(
      `select r.seq as seq, t.flow as flow from turns t join requests r on r.seq = t.opened_seq
        where t.id = ? and r.framed = 1 and r.ended = 1`,
    ),
    judge: db.prepare(
      `update requests set failed = ?2, unseen = ?2 and not exists (select 1 from seen where flow = ?3)
        where seq = ?1`,
    ),
    lastCall: db.prepare(
      `select t.outcome as outcome from turns t
        where t.flow = ?1 and t.caller_turn = ?2 and t.caller is not null
        order by t.opened_at desc, t.id desc limit 1`,
    ),
    refused: db.prepare('select 1 from refused where seq > ?1 and caller_turn = ?2 limit 1'),
  }
}
export type RequestWrites = ReturnType<typeof prepareRequestWrites>

export const isRoot = (turn: string, flow: string): boolean => turn.slice(5) === flow.slice(5)

/** What was made in the same batch. */
type Known = { sessions: ReadonlyMap<string, EventOf<'session.created'>>; places: Map<string, number> }

/** `ended` is known where its end is written with it. Returns whether what it asks for decides how it ends. */
export function openRequest(
  writes: RequestWrites,
  event: OpeningMessage,
  seq: number,
  ended: EventOf<'turn.ended'> | undefined,
  known: Known | null = null,
): boolean {
  const { turn, session, grant } = event
  const failed = ended !== undefined && isFailure(ended.outcome) ? 1 : 0
  const isEnded = ended === undefined ? 0 : 1
  const made = known?.sessions.get(session)
  if (known !== null && made !== undefined && made.kind !== 'external') {
    writes.openOwn.run(seq, turn, grant.agent, findPlace(writes, made.cwd, known.places), isEnded, failed)
    return false
  }
  const look = isLook(event, true) ? 1 : 0
  const row = writes.open.get(seq, turn, grant.agent, session, look, isEnded, failed)
  if (row?.['place'] === null) {
    const place = writes.place.get(session)?.['id']
    if (place !== undefined) writes.setPlace.run(place, seq)
  }
  return row?.['framed'] === 1
}

function findPlace(writes: RequestWrites, path: string, known: Map<string, number>): number {
  const before = known.get(path)
  if (before !== undefined) return before
  const row = (writes.findPlace.get(path) ?? writes.addPlace.get(path)) as { id: number }
  known.set(path, row.id)
  return row.id
}

/** The first that a client's own turn calls is whom it asked. */
export function askAgent(writes: RequestWrites, { turn, grant }: EventOf<'call.opened'>): void {
  if (grant.path.length === 2 && grant.path[0]?.agent === externalAgent.name)
    writes.setAgent.run(turn, grant.agent)
}

export type EndedRequest = { seq: number; flow: string; turn: string }

export function endRequest(
  writes: RequestWrites,
  { seq, flow, turn }: EndedRequest,
  end: EventOf<'turn.ended'>,
): void {
  // Most are no client's.
  const own = isFailure(readRootEnd(end, false, []).outcome) ? 1 : 0
  if (writes.endOwn.run(seq, own, flow).changes > 0) return
  const isClient = writes.isFramed.get(seq)?.['framed'] === 1
  const made = isClient && end.outcome === 'completed' ? readLast(writes, { seq, flow, turn }) : []
  const failed = isFailure(readRootEnd(end, isClient, made).outcome) ? 1 : 0
  writes.end.run(seq, failed, flow, isClient && end.outcome === 'completed' ? 1 : 0)
}

/** What a client left in the background may end after the turn that called it. */
export function endLate(writes: RequestWrites, callerTurn: string): void {
  const row = writes.framed.get(callerTurn) as { seq: number; flow: string } | undefined
  if (row === undefined) return
  const { seq, flow } = row
  const [last] = readLast(writes, { seq, flow, turn: callerTurn })
  if (last?.outcome != null) writes.judge.run(seq, isFailure(last.outcome) ? 1 : 0, flow)
}

function readLast(writes: RequestWrites, { seq, flow, turn }: EndedRequest): Made[] {
  const last = writes.lastCall.get(flow, turn) as { outcome: Outcome | null } | undefined
  if (last !== undefined) return [{ outcome: last.outcome, error: null }]
  return writes.refused.get(seq, turn) === undefined ? [] : [{ outcome: 'refused', error: null }]
}
