/** The statements behind the facts, each prepared once for a connection. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { prepareMail } from './mail.ts'
import { arrays, parseGrants, selected, sessionColumns, turnColumns } from './rows.ts'

const turn = selected('t', turnColumns)
const session = selected('s', sessionColumns)
const queued = `(select count(*) from turns where live = 1 and session = s.id and state = 'queued')`

/** Sessions that a flow has created, by calls and by spawns. */
const countDescendants = (flow: string): string => `
  coalesce((select sum(made) from turns where flow = ${flow} and caller is not null), 0)
    + (select count(*) from sessions where flow = ${flow})`

/** ?2 and ?3 lie a minute before and after now. */
const lastMinute = 'flow = t.flow and opened_at > ?2 and opened_at < ?3 and caller is not null'
const sentLastMinute = 'flow = ?1 and sent_at > ?2 and sent_at < ?3 and flow is not null'

/**
 * Every session that ?1 waits for, directly or not, with the one it was reached from. Waits are pending
 * blocking calls and waits for a session. A wait counts until its end is recorded: the clock on the wall may be set.
 */
const reach = `with recursive reach(session, via) as (
    select ?1, null
    union select t.session, r.session from reach r
      join turns t on t.pending = 1 and t.caller = r.session where t.background = 0
    union select w.target, r.session from reach r
      join waits w on w.waiter = r.session)
  select r.session as session, r.via as via, s.agent as agent
    from reach r cross join sessions s on s.id = r.session`

export type FactStatements = ReturnType<typeof prepareFacts>

export function prepareFacts(db: DatabaseSync) {
  const prepare = (sql: string): StatementSync => arrays(db.prepare(sql))
  return {
    grants: parseGrants(db),
    mail: prepareMail(db),
    turn: prepare(
      `select ${turn}, ${session} from all_turns t join sessions s on s.id = t.session where t.id = ?`,
    ),
    activation: prepare(
      `select session, state, node, epoch, stopping, pending, outcome, tokens_used, tokens_below,
          usd_below from all_turns where id = ?`,
    ),
    session: prepare(`select ${session}, (select until from nodes where id = t.node), ${queued},
        ${turn}, ${selected('q', turnColumns)}
      from sessions s
      left join turns t on t.live = 1 and t.session = s.id and t.state = 'running'
      left join turns q on q.id = (select id from turns
        where live = 1 and session = s.id and state = 'queued' order by opened_seq limit 1)
      where s.id = ?`),
    open: prepare(`select ${turn}, ${session},
        (select count(*) from turns where pending = 1 and caller = t.session and background = 0),
        ${countDescendants('t.flow')},
        (select count(*) from turns where ${lastMinute}),
        (select min(opened_at) from turns where ${lastMinute})
      from turns t join sessions s on s.id = t.session where t.id = ?1`),
    send: prepare(`select ${countDescendants('?1')},
        (select count(*) from messages where ${sentLastMinute}),
        (select min(sent_at) from messages where ${sentLastMinute}),
        max((select opened_at from turns where id = 'turn_' || substr(?1, 6)),
          coalesce((select max(accepted_at) from messages where flow = ?1 and accepted_by = 'user'), 0)),
        exists (with recursive up(id) as (
          select parent from sessions where id = ?4
          union select s.parent from up join sessions s on s.id = up.id where s.parent is not null)
          select 1 from up where id = ?5)`),
    target: prepare(`select ${session}, ${queued} from sessions s where s.id = ?`),
    notices: prepare('select seq, about, text from notices where session = ? order by seq desc limit +?'),
    announced: prepare('select 1 from announced where session = ? and message = ?'),
    client: prepare('select program, open, quiet_until from clients where session = ?'),
    woken: prepare('select count(*) from woken where session = ? and at > ?'),
    traced: prepare('select ended from traced where session = ? and key = ?'),
    question: prepare(
      `select q.turn, t.session, q.answer, q.answered_by, t.state
        from questions q join all_turns t on t.id = q.turn where q.id = ?`,
    ),
    permission: prepare('select question from permissions where session = ? and tool = ?'),
    seen: prepare('select seq from seen where flow = ?'),
    reach: db.prepare(reach),
    below: prepare(`with recursive below(id, session) as (
        select id, session from turns where pending = 1 and caller = ?1 and caller_turn = ?2
        union select t.id, t.session from below b
          join turns t on t.pending = 1 and t.caller = b.session and t.caller_turn = b.id)
      select ${turn}, s.kind from below b join turns t on t.id = b.id join sessions s on s.id = t.session`),
  }
}
