/**
 * The lines of what was moved, in less room. A turn that was moved has its line in `moved_turns`, named by the number
 * of the event that opened it: `root` and `above` are those of its flow's first turn and of its caller, `session` is
 * null where it ends like the turn. What only a turn that runs needs (node, key, deadlines) stands in its events. Of
 * its entries the answer's line stays, without the text: the question is read from the same event. A request's line
 * does not name it. The numbers of a session's moved rows stand in its own line, as distances, unless there are too
 * many.
 *
 * `all_turns` is for readers that may meet a turn that was moved. The casts let SQLite look both tables up by index.
 */

const text = (value: string): string => `cast(${value} as text)`
const number = (value: string): string => `cast(${value} as integer)`

/** The session of a turn that was moved. */
export const movedSession = (m: string): string => `coalesce(${m}.session, 'ses_' || substr(${m}.id, 6))`

/** Each column of `all_turns` with what it is of a turn `m` that was moved, `r` its root and `a` its caller. */
const columns: readonly (readonly [name: string, moved: string])[] = [
  ['id', 'm.id'],
  ['session', text(movedSession('m'))],
  ['flow', text(`'flow_' || substr(r.id, 6)`)],
  ['state', text(`'ended'`)],
  ['live', number('0')],
  ['caller', text(movedSession('a'))],
  ['caller_turn', 'a.id'],
  ['pending', number('0')],
  ['outcome', 'm.outcome'],
  ['background', 'm.background'],
  ['call_deadline', number('0')],
  ['key', text(`iif(a.id is null, null, '')`)],
  ['node', text('null')],
  ['epoch', 'm.epoch'],
  ['deadline', number('0')],
  ['stopping', 'm.stopping'],
  ['opened_at', 'm.opened_at'],
  ['opened_seq', 'm.seq'],
  ['ended_seq', 'm.ended_seq'],
  ...'tokens_used tokens_below spent spent_plan unpriced usd_below'
    .split(' ')
    .map((name) => [name, `m.${name}`] as const),
]
const list = (of: 0 | 1): string => columns.map((column) => column[of]).join(', ')

/** The line of a turn `t` in `moved_turns`, with `r` its root and `a` its caller. */
export const movedLine = `t.opened_seq, t.id, r.opened_seq, a.opened_seq, nullif(t.session, 'ses_' || substr(t.id, 6)),
  t.outcome, t.background, t.epoch, t.stopping, t.opened_at, t.ended_seq, t.made, t.tokens_used, t.tokens_below,
  t.spent, t.spent_plan, t.unpriced, t.usd_below
  from turns t join turns r on r.id = 'turn_' || substr(t.flow, 6) left join turns a on a.id = t.caller_turn`

/** What else says the same. Texts leave the lines of entries, and questions leave altogether. */
export const stripLines = `
update requests set turn = '' where turn <> '' and seq in (select seq from moved_turns);
delete from entries where role = 'user' and turn in (select id from moved_turns);
update entries set text = '' where text <> '' and turn in (select id from moved_turns);
`

/** R11: a session with more rows that were moved keeps them in its timeline, and '' in its line says so. */
export const movedInLineMax = 256

/** `kept` is a table with the numbers of the rows that the log still has. */
export const stripTimelines = (kept: string): string => `
update sessions set moved = iif(m.n > ${movedInLineMax}, '', m.steps) from (
  select session, count(*) as n, group_concat(step, ',' order by seq) as steps from (
    select x.session as session, x.seq as seq,
      x.seq - lag(x.seq, 1, 0) over (partition by x.session order by x.seq) as step
    from log_sessions x where not exists (select 1 from ${kept} l where l.seq = x.seq))
  group by session) m
  where sessions.id = m.session;
delete from log_sessions where not exists (select 1 from ${kept} l where l.seq = log_sessions.seq)
  and session in (select id from sessions where moved <> '');
`

/** A view that a rebuild does not empty, since only it knows which turns were moved. */
export const movedTable = 'moved_turns'

export const movedSchema = `
create table moved_turns (
  seq integer primary key, id text not null unique, root integer not null, above integer, session text,
  outcome text, background integer not null, epoch integer not null, stopping text, opened_at integer not null,
  ended_seq integer not null, made integer not null, tokens_used integer not null, tokens_below integer not null,
  spent integer not null, spent_plan integer not null, unpriced integer, usd_below integer not null
) strict;
create index moved_turns_flow on moved_turns (root) where root <> seq;
create index moved_turns_calls on moved_turns (seq) where above is not null;
create index moved_turns_ends on moved_turns (substr(id, -6));
create view all_turns as select ${list(0)} from turns union all select ${list(1)}
  from moved_turns m join moved_turns r on r.seq = m.root left join moved_turns a on a.seq = m.above;
alter table sessions add column moved text;
insert into moved_turns select ${movedLine} join moved_flows m on m.flow = t.flow
  where t.state = 'ended' and t.live = 0 and t.ended_seq is not null
    and (t.caller_turn is null or a.flow = t.flow);
delete from turns where id in (select id from moved_turns);
${stripLines} ${stripTimelines('log')}
drop table moved_flows;
`
