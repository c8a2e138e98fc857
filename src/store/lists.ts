/** Reads for lists and for looking around: requests, calls, agents, questions, waits. Never for decisions. */
import type { DatabaseSync } from 'node:sqlite'
import type { StoredEvent } from '../model/event.ts'
import type { Answer } from '../model/question.ts'
import { callsBelow, type FlowId } from '../model/id.ts'
import { pageUnitsMax } from '../model/limits.ts'
import type { CallPage, CallsAsk, Lists, WaitRow } from '../runtime/kernel/lists-port.ts'
import { movedSession } from './archive/moved-schema.ts'
import { clientLists } from './client-lists.ts'
import { prepareFindIds } from './find-ids.ts'
import { prepareEventReader, type EventReader } from './log-row.ts'
import { mailLists } from './mail-lists.ts'
import { prepareRaised } from './raised-notices.ts'
import { requestLists } from './request-lists.ts'
import { sessionLists } from './session-lists.ts'
import { runGently, unitsPerRow, unitsPerSlice } from './slices.ts'

function prepareAll(db: DatabaseSync) {
  return {
    ...prepareCalls(db),
    agents: db.prepare(
      `select a.seq as seq, a.created_at as at, a.deleted as deleted
        from agents a where a.id > '' order by a.id`,
    ),
    questions: db.prepare(
      `select q.seq as seq from questions q indexed by questions_open join turns t on t.id = q.turn
        where q.answer is null and q.id > '' and t.state = 'running' order by q.id`,
    ),
    question: db.prepare('select seq, answer, answered_by from questions where id = ?'),
    counts: db.prepare(
      `select (select count(*) from turns where pending = 1 and caller > '') as openCalls,
        (select count(*) from turns where live = 1 and session > '' and state = 'queued') as queued`,
    ),
    waits: db.prepare(`select t.caller as waiter, a.agent as waiterAgent, t.session as target,
        b.agent as targetAgent, 'call_' || substr(t.id, 6) as call, t.opened_at as since,
        t.call_deadline as until
      from turns t indexed by turns_pending join sessions a on a.id = t.caller
        join sessions b on b.id = t.session
      where t.pending = 1 and t.caller > '' and t.background = 0
      union all select w.waiter, a.agent, w.target, b.agent, null, 0, max(w.until)
      from waits w join sessions a on a.id = w.waiter join sessions b on b.id = w.target
      where w.waiter > '' group by w.waiter, w.target`),
    notices: db.prepare('select about, text from notices where session = ? order by seq desc limit +?'),
  }
}

/** Each page looks through the newest ?4 calls, and the newest ?4 refusals, below ?1. */
function prepareCalls(db: DatabaseSync) {
  const calls = `from turns t indexed by turns_calls where t.caller is not null and t.opened_seq < ?1
    order by t.opened_seq desc limit`
  const moved = `from moved_turns m indexed by moved_turns_calls cross join moved_turns a on a.seq = m.above
    where m.above is not null and m.seq < ?1 order by m.seq desc limit`
  const asked = 'where ?2 is null or c.caller = ?2 or c.target = ?2 or c.caller = ?3'
  const refusals = 'from refused x where x.seq < ?1 order by x.seq desc limit'
  return {
    calls: db.prepare(`select c.seq as seq, c.ended as ended, c.used as used from (
        select t.opened_seq as seq, case t.pending when 0 then t.ended_seq end as ended,
          case t.state when 'ended' then t.tokens_used + t.tokens_below else 0 end as used,
          t.caller as caller, t.session as target ${calls} ?4) c
      ${asked} limit +?5`),
    refusals: db.prepare(`select r.seq as seq, r.flow as flow
      from (select x.seq as seq, x.flow as flow, x.caller as caller ${refusals} ?4) r
      where ?2 is null or r.caller = ?2 or r.caller = ?3 limit +?5`),
    moved: db.prepare(`select c.seq as seq, c.ended as ended, c.used as used from (
        select m.seq as seq, m.ended_seq as ended, m.tokens_used + m.tokens_below as used,
          ${movedSession('a')} as caller, ${movedSession('m')} as target ${moved} ?4) c
      ${asked} limit +?5`),
    callsFloor: db.prepare(`select t.opened_seq as seq ${calls} 1 offset ?2`),
    movedFloor: db.prepare(`select m.seq as seq ${moved} 1 offset ?2`),
    refusalsFloor: db.prepare(`select x.seq as seq ${refusals} 1 offset ?2`),
  }
}

export function prepareLists(db: DatabaseSync): Lists {
  const statements = prepareAll(db)
  const events = prepareEventReader(db)
  const eventAt = events.find
  return {
    ...sessionLists(db),
    ...prepareFindIds(db),
    agentRows: async () =>
      (statements.agents.all() as { seq: number; at: number; deleted: number }[]).flatMap(
        ({ seq, at, deleted }) => {
          const stored = eventAt(seq)
          return stored?.event.type === 'agent.created'
            ? [{ created: stored.event, at, deleted: deleted === 1 }]
            : []
        },
      ),
    openQuestions: async () =>
      (statements.questions.all() as { seq: number }[])
        .map(({ seq }) => eventAt(seq))
        .filter((stored) => stored !== null),
    async question(id) {
      const row = statements.question.get(id) as
        | { seq: number; answer: Answer | null; answered_by: string | null }
        | undefined
      const asked = row === undefined ? null : eventAt(row.seq)
      return row === undefined || asked === null ? null : { asked, answer: row.answer, by: row.answered_by }
    },
    calls: (ask, limit) => runGently(fillCalls(events, listCalls(statements, ask, limit))),
    roots: requestLists(db),
    ...clientLists(db),
    notices: async (id, limit) =>
      (statements.notices.all(id, limit) as { about: string; text: string }[])
        .map((notice) => ({ ...notice }))
        .toReversed(),
    raisedNotices: prepareRaised(db),
    mail: mailLists(db),
    counts: async () => ({ ...(statements.counts.get() as Awaited<ReturnType<Lists['counts']>>) }),
    waits: async () => (statements.waits.all() as WaitRow[]).map((wait) => ({ ...wait })),
  }
}

/** R11: how many calls one page looks through for those of a session. */
const lookedThroughMax = 5000

/**
 * What was opened and what was refused, newest first. A page for a session may be short where others called
 * much: `next` goes on below what was looked through.
 */
function listCalls(
  statements: ReturnType<typeof prepareCalls>,
  { session: of, before }: CallsAsk,
  limit: number,
): CallRows {
  const from = before ?? Number.MAX_SAFE_INTEGER
  const filter = [from, of, of === null ? null : callsBelow(of), lookedThroughMax, limit] as const
  const floors = [statements.callsFloor, statements.movedFloor, statements.refusalsFloor].map(
    (floor) => (floor.get(from, lookedThroughMax - 1) as { seq: number } | undefined)?.seq ?? 0,
  )
  const floor = of === null ? 0 : Math.max(...floors)
  const pages = [statements.calls, statements.moved, statements.refusals]
  const found = pages.flatMap((page) => page.all(...filter)) as RawCall[]
  const rows = found
    .filter(({ seq }) => seq >= floor)
    .sort((a, b) => b.seq - a.seq)
    .slice(0, limit)
  return { rows, next: rows.length === limit ? (rows.at(-1)?.seq ?? null) : floor > 0 ? floor : null }
}

/** A refusal has a flow; a call has used tokens, and has ended or not. */
type RawCall = { seq: number; ended?: number | null; used?: number; flow?: FlowId }
type CallRows = { rows: RawCall[]; next: number | null }

/** A list shows neither the input nor the output: a page of those would be held in memory. */
const withoutInput = ({ event, ...stored }: StoredEvent): StoredEvent => ({
  ...stored,
  event: event.type === 'call.opened' ? { ...event, input: null, attachment: null } : event,
})

/** Reads the events of one call after the other until the page is full. Yields after every slice. */
function* fillCalls(events: EventReader, { rows, next }: CallRows): Generator<undefined, CallPage> {
  const calls: CallPage['calls'] = []
  let [units, looked] = [0, 0]
  for (const { seq, ended = null, used = 0, flow = null } of rows) {
    const before = events.looked
    const [first, end] = [events.find(seq), ended === null ? null : events.find(ended)?.event]
    const last = end?.type === 'call.ended' ? { ...end, output: '' } : null
    if (first !== null) calls.push({ first: withoutInput(first), ended: last, used, flow })
    units += first !== null && 'task' in first.event ? first.event.task.length : 0
    units += last?.errors[0]?.length ?? 0
    if (units > pageUnitsMax && seq !== rows.at(-1)?.seq) return { calls, next: seq }
    looked += unitsPerRow + events.looked - before
    if (looked <= unitsPerSlice) continue
    looked = 0
    yield
  }
  return { calls, next }
}
