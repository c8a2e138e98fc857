/** The statements that change the views, each prepared once for a connection. */
import type { DatabaseSync } from 'node:sqlite'
import { fateColumns, manyPairs } from './ahead.ts'
import { prepareSessionCosts } from './apply-session-costs.ts'
import { prepareStepWrites } from './apply-steps.ts'
import { prepareMailWrites } from './apply-mail.ts'
import { prepareRequestWrites } from './apply-requests.ts'
import { prepareWakeWrites } from './apply-wake.ts'
import { indexEntries } from './keyword-index.ts'

const insert = (table: string, columns: string): string => {
  const places = columns.split(', ').map(() => '?')
  return `insert into ${table} (${columns}) values (${places.join(', ')})`
}

/** Statements by name, prepared once. What is often decided together is written together. */
export function prepareWrites(db: DatabaseSync) {
  return {
    timeline: db.prepare('insert into log_sessions (session, seq) values (?, ?)'),
    timelines: db.prepare(`insert into log_sessions (session, seq) values ${manyPairs}`),
    session: db.prepare(insert('sessions', 'id, agent, kind, parent, cwd, title, created_at, model, flow')),
    archive: db.prepare('update sessions set archived = ?2 where id = ?1'),
    revive: db.prepare(`update sessions set archived = null where id = ? and archived = 'idle'`),
    adopt: db.prepare('update sessions set parent = ?2, archived = iif(?3, null, archived) where id = ?1'),
    rename: db.prepare('update sessions set title = ?2 where id = ?1'),
    fork: db.prepare('update sessions set fork_of = ?2, fork_n = ?3 where id = ?1'),
    agent: db.prepare(`${insert('agents', 'id, title, seq, created_at')}
      on conflict do update set title = excluded.title, seq = excluded.seq, deleted = 0`),
    deleteAgent: db.prepare('update agents set deleted = 1 where id = ?'),
    ask: db.prepare(insert('questions', 'id, turn, seq, deadline')),
    answer: db.prepare('update questions set answer = ?2, answered_by = ?3 where id = ?1'),
    permit: db.prepare(`${insert('permissions', 'session, tool, question')} on conflict do nothing`),
    see: db.prepare(`${insert('seen', 'flow, seq')} on conflict do nothing`),
    seeRequest: db.prepare(
      `update requests set unseen = 0
        where seq = (select opened_seq from all_turns where id = 'turn_' || substr(?, 6))`,
    ),
    refuse: db.prepare(
      `insert into refused (call, caller, caller_turn, flow, seq)
        values (?, ?, ?, (select flow from turns where id = ?3), ?4)`,
    ),
    /** What was asked, and what was answered. */
    entries: db.prepare(
      `${insert('entries', 'session, n, role, at, text, tokens, sender, turn, has_steps')},
        (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    steps: prepareStepWrites(db),
    wait: db.prepare(`${insert('waits', 'waiter, target, turn, until')}
      on conflict do update set until = max(until, excluded.until)`),
    anyWait: db.prepare(`select 1 from waits where waiter > '' limit 1`),
    endWaits: db.prepare('delete from waits where waiter = ? and turn = ?'),
    endWait: db.prepare('delete from waits where waiter = ? and target = ? and turn = ?'),
    traced: db.prepare(`${insert('traced', 'session, key, ended')}
      on conflict do update set ended = max(ended, excluded.ended)`),
    notice: db.prepare(insert('notices', 'session, seq, about, text')),
    giveNotices: db.prepare('delete from notices where session = ? and seq <= ?'),
    dropNotices: db.prepare(
      `delete from notices where session = ?1 and seq <=
        (select seq from notices where session = ?1 order by seq desc limit 1 offset ?2)`,
    ),
    indexEntries: (session: string, count: number) => indexEntries(db, session, count),
    ...prepareTurnWrites(db),
    mail: prepareMailWrites(db),
    wake: prepareWakeWrites(db),
    costs: prepareSessionCosts(db),
    requests: prepareRequestWrites(db),
  }
}
export type Writes = ReturnType<typeof prepareWrites>

function prepareTurnWrites(db: DatabaseSync) {
  const turn = 'id, session, flow, state, live, opened_at, opened_seq, node, epoch, deadline'
  const called = 'caller, caller_turn, pending, background, call_deadline, key, made, held, usd_held'
  const opened = 'id, session, flow, opened_at, opened_seq'
  const byCall = 'caller, caller_turn, background, call_deadline, key, made'
  const settled = 'held, tokens_below, usd_held, usd_below, caller_turn, background, flow, opened_seq'
  const ended = `update turns set state = 'ended', live = 0, tokens_used = ?1,
      spent = ?5, spent_plan = ?6, unpriced = ?7,`
  return {
    message: db.prepare(insert('turns', turn)),
    call: db.prepare(insert('turns', `${turn}, ${called}`)),
    /** As it is in the end. */
    messageWhole: db.prepare(insert('turns', `${opened}, ${fateColumns}`)),
    callWhole: db.prepare(insert('turns', `${opened}, ${byCall}, ${fateColumns}`)),
    start: db.prepare(`update turns set state = 'running', node = ?, epoch = ?, deadline = ? where id = ?`),
    claim: db.prepare('update turns set node = ?, epoch = ? where id = ?'),
    cancel: db.prepare('update turns set stopping = ? where id = ?'),
    endCall: db.prepare(`update turns set pending = 0, outcome = ?1, ended_seq = ?2,
        live = case state when 'running' then 1 else 0 end,
        state = case state when 'queued' then 'ended' else state end
      where id = ?3 returning held, usd_held, state, epoch, caller_turn, background`),
    endTurn: db.prepare(`${ended} ended_seq = coalesce(ended_seq, ?2)
      where id = ?3 returning ${settled}`),
    endBoth: db.prepare(`${ended} ended_seq = ?2, pending = 0, outcome = ?4
      where id = ?3 returning ${settled}`),
    tokens: db.prepare(
      'update turns set tokens_below = tokens_below + ? where id = ? returning state, held, caller_turn',
    ),
    money: db.prepare(
      'update turns set usd_below = usd_below + ? where id = ? returning state, usd_held as held, caller_turn',
    ),
  }
}
