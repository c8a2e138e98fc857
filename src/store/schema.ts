/** The tables. The log is the truth; all others are views folded from it, but for `nodes`, which are leases. */

import { movedSchema } from './archive/moved-schema.ts'
import { keywordSchema } from './keyword-index.ts'

/** "TIEL", so that a file of another program is never taken for ours. */
export const applicationId = 0x5449454c

/**
 * One row of `log` is one transaction: its events were decided together. `seq` is the number of its last
 * event, so that `seq > cursor` finds the row that holds the next one.
 * A row of `messages` is a draft, or a message that waited, has a sender, or answers one; a user's own words
 * to a session are only a turn. Its id is without `msg_`, like that of its turn; its texts stand in the log.
 * A row of `turns` is an input of a session and the turn that serves it; a call is a turn with a caller. What
 * was granted to it stands in the log only: the node that runs it has it in memory. Partial indexes are used only
 * where a statement repeats their WHERE to the letter.
 */
const first = `
create table log (seq integer primary key, at integer not null, events text not null) strict;
create table log_sessions (
  session text not null, seq integer not null, primary key (session, seq)
) strict, without rowid;

create table sessions (
  id text primary key, agent text not null, kind text not null, parent text, cwd text not null,
  title text not null, created_at integer not null, model text, flow text,
  fork_of text, fork_n integer not null default 0, archived text,
  summary text, summary_entries integer not null default 0
) strict, without rowid;
create index sessions_listed on sessions (created_at, id) where kind <> 'ephemeral';
create index sessions_parent on sessions (parent, id) where parent is not null and kind <> 'ephemeral';
create index sessions_flow on sessions (flow) where flow is not null;
create table agents (
  id text primary key, title text not null, seq integer not null, created_at integer not null,
  deleted integer not null default 0
) strict, without rowid;
create index agents_title on agents (title) where deleted = 0;

create table turns (
  id text primary key, session text not null, flow text not null, state text not null, live integer not null,
  caller text, caller_turn text, pending integer not null default 0, outcome text,
  background integer not null default 0, call_deadline integer not null default 0, key text,
  node text, epoch integer not null default 0, deadline integer not null default 0, stopping text,
  opened_at integer not null, opened_seq integer not null, ended_seq integer,
  made integer not null default 0, held integer not null default 0,
  tokens_used integer not null default 0, tokens_below integer not null default 0
) strict, without rowid;
create index turns_session on turns (session, state, id) where live = 1;
create index turns_pending on turns (caller, session) where pending = 1;
create index turns_flow on turns (flow, opened_at, made) where caller is not null;

create table messages (
  id text primary key, name text not null, state text not null, waiting integer not null,
  fleeting integer not null default 0, owner text not null, sender text, receiver text,
  in_reply_to text, flow text, created_at integer not null, created_seq integer not null,
  updated_at integer not null, updated_seq integer not null, text_seq integer not null,
  sent_at integer, sent_seq integer, accepted_at integer, accepted_seq integer, accepted_by text,
  accept_act text, draft_act text, turn text,
  answered integer not null default 0, revisions integer not null default 0
) strict, without rowid;
/* How many wait for a session: counted where they change, so that nobody counts them for every message more. */
create table inboxes (session text primary key, waiting integer not null) strict, without rowid;
create index messages_inbox on messages (receiver, sent_seq) where waiting = 1;
create index messages_fleeting on messages (receiver) where fleeting = 1;
create index messages_drafts on messages (owner, updated_seq) where state = 'draft';
create index messages_thread on messages (in_reply_to, created_seq) where in_reply_to is not null;
create index messages_dead on messages (updated_seq) where state = 'dead';
create index messages_flow on messages (flow, sent_at) where flow is not null;
create index messages_renewed on messages (flow, accepted_at) where accepted_by = 'user';
create index messages_act on messages (accept_act) where accept_act is not null;

create table refused (
  call text primary key, caller text not null, caller_turn text not null, flow text not null,
  seq integer not null
) strict, without rowid;
create table waits (
  waiter text not null, target text not null, turn text not null, until integer not null,
  primary key (waiter, target)
) strict, without rowid;

create table questions (
  id text primary key, turn text not null, seq integer not null, deadline integer not null,
  answer text, answered_by text
) strict, without rowid;
create index questions_open on questions (id) where answer is null;

create table entries (
  session text not null, n integer not null, role text not null, at integer not null, text text not null,
  tokens integer not null, sender text, turn text not null, has_steps integer not null,
  primary key (session, n)
) strict, without rowid;
create index entries_steps on entries (session, n) where has_steps = 1;

create table nodes (id text primary key, until integer not null) strict, without rowid;
`

/** All drafts, for the person who releases them. */
const second = `create index messages_drafted on messages (updated_seq) where state = 'draft';`

/**
 * Several turns of one session may wait for the same: each has an edge of its own. `traced` are uses of tools
 * that programs outside wrote down, so that a second try writes nothing. `notices` are those that no turn was
 * given yet; the beginning of each is enough.
 */
const third = `
create table waits_by_turn (
  waiter text not null, target text not null, turn text not null, until integer not null,
  primary key (waiter, target, turn)
) strict, without rowid;
insert into waits_by_turn select waiter, target, turn, until from waits;
drop table waits;
alter table waits_by_turn rename to waits;
create index turns_calls on turns (opened_seq) where caller is not null;
create index refused_seq on refused (seq);
create table traced (
  session text not null, key text not null, ended integer not null, primary key (session, key)
) strict, without rowid;
insert into traced
  select e.value ->> 'session', e.value ->> 'key', max(e.value ->> 'type' = 'step.ended')
  from log l, json_each(l.events) e
  where e.value ->> 'type' in ('step.started', 'step.ended') and e.value ->> 'turn' is null group by 1, 2;
create table notices (
  session text not null, seq integer not null, about text not null, text text not null,
  primary key (session, seq)
) strict, without rowid;
insert into notices
  select e.value ->> 'session', l.seq - json_array_length(l.events) + 1 + e.key, e.value ->> 'about',
    substr(e.value ->> 'text', 1, 2000)
  from log l, json_each(l.events) e where e.value ->> 'type' = 'notice.raised';
`

/** No table changes: 0.1.0 cannot fold `turn.suspended` and `session.cancelled`, so it must refuse the directory. */
const fourth = '-- new events'

/**
 * `permissions` are tools that a person has allowed for the rest of a session, `seen` are requests whose end a
 * person has seen. Roots of flows are listed by the event that opened them.
 */
const fifth = `
create table permissions (
  session text not null, tool text not null, question text not null, primary key (session, tool)
) strict, without rowid;
create table seen (flow text primary key, seq integer not null) strict, without rowid;
create index turns_roots on turns (opened_seq) where caller is null;
`

/** Which mail a client's session was told of, and when one was made to go on. */
const sixth = `
create table announced (
  session text not null, message text not null, seq integer not null, primary key (session, message)
) strict, without rowid;
create table woken (
  session text not null, seq integer not null, at integer not null, primary key (session, seq)
) strict, without rowid;
`

/**
 * Sessions that programs of the user have open, and until when one is not told of anything; for the user's own
 * session that is for all.
 */
const seventh = `
create table clients (
  session text primary key, program text not null default '', open integer not null default 0,
  quiet_until integer not null default 0
) strict, without rowid;
create index clients_quiet on clients (quiet_until) where quiet_until > 0;
`

/**
 * Money in billionths of a dollar, beside the tokens: what a turn has spent itself, the part of it that a plan
 * covers, its tokens without a price (null: all of them), what its call holds, and what is held or spent below it.
 */
const eighth = `
alter table turns add column spent integer not null default 0;
alter table turns add column spent_plan integer not null default 0;
alter table turns add column unpriced integer;
alter table turns add column usd_held integer not null default 0;
alter table turns add column usd_below integer not null default 0;
`

/** How far the views are behind the log: the number of the last event that they have, null where they have all. */
const ninth = `
create table folded (seq integer) strict;
insert into folded values (null);
`

/**
 * What was spent on each day (in UTC, counted from 1970) in each directory, and how much of a turn's money is in
 * it: its steps are counted as they are recorded, the rest when it ends.
 */
const tenth = `
alter table turns add column paid integer not null default 0;
create table spent_days (
  day integer not null, cwd text not null, spent integer not null, primary key (day, cwd)
) strict, without rowid;
`

/**
 * Rows of flows that ended long ago stand in segments, files beside the log. `segments` and `segment_blocks` say where
 * and with which checksums; they are not views, since only they know. The entries of a moved flow keep their lines,
 * without texts.
 */
const eleventh = `
create table segments (
  id integer primary key, file text not null, at integer not null, bytes integer not null, flows integer not null,
  rows integer not null, events integer not null, first_seq integer not null, last_seq integer not null
) strict;
create table segment_blocks (
  segment integer not null, n integer not null, offset integer not null, bytes integer not null,
  hash text not null, first_seq integer not null, last_seq integer not null, rows integer not null,
  primary key (segment, n)
) strict, without rowid;
create table moved_flows (flow text primary key, segment integer not null) strict, without rowid;
create index sessions_forks on sessions (fork_of) where fork_of is not null;
`

/** What each session has used: its turns, with everything that they called. Filled from the turns that are there. */
const twelfth = `
create table spent_sessions (
  session text primary key, tokens integer not null, spent integer not null, spent_plan integer not null,
  unpriced integer not null
) strict, without rowid;
with recursive up (source, turn, session, made) as (
  select id, id, session, made from turns where state = 'ended' and (tokens_used > 0 or spent > 0)
  union all select u.source, above.id, above.session, above.made
    from up u join turns t on t.id = u.turn join turns above on above.id = t.caller_turn)
insert into spent_sessions
  select u.session, sum(t.tokens_used), sum(t.spent), sum(t.spent_plan), sum(coalesce(t.unpriced, t.tokens_used))
  from (select distinct source, session from up where made = 0) u join turns t on t.id = u.source
  group by u.session;
`

/**
 * Sessions by what lists ask for. Those that are archived are in none of these, since they only grow in number. Ids
 * are found by how they end, which is what people are shown of them (`find-ids.ts`).
 */
const thirteenth = `
create index sessions_open on sessions (created_at, id) where kind <> 'ephemeral' and archived is null;
create index sessions_open_agent on sessions (agent, created_at, id)
  where kind <> 'ephemeral' and archived is null;
create index sessions_open_cwd on sessions (cwd, created_at, id) where kind <> 'ephemeral' and archived is null;
drop index sessions_parent;
create index sessions_below on sessions (parent, created_at, id)
  where parent is not null and kind <> 'ephemeral';
create index sessions_resting on sessions (created_at)
  where parent is not null and kind = 'persistent' and archived is null;
create index sessions_addresses on sessions (created_at)
  where kind = 'external' and archived is null and instr(title, '@') > 0;
create index sessions_ends on sessions (substr(id, -6)) where kind <> 'ephemeral';
create index turns_ends on turns (substr(id, -6));
create index refused_ends on refused (substr(call, -6));
`

/**
 * Requests, by the number of the event that opened them, for lists: whom they asked, and in which directory. A `look`
 * is in no list. `framed`: it is a client's, and ended as what it asked for did. Filled by `fill-requests.ts`.
 */
const fourteenth = `
create table places (id integer primary key, path text not null unique) strict;
create table requests (
  seq integer primary key, turn text not null, agent text not null, place integer, framed integer not null,
  look integer not null, ended integer not null, failed integer not null, unseen integer not null
) strict;
create index requests_listed on requests (look) where look = 0;
create index requests_agent on requests (agent) where look = 0;
create index requests_place on requests (place) where look = 0;
create index requests_failed on requests (failed) where look = 0 and failed = 1;
create index requests_unseen on requests (unseen) where look = 0 and unseen = 1;
drop index turns_roots;
`

/** Applied in order; `user_version` counts those applied. Never edit a released one: add another. */
export const migrations: readonly string[] = [
  `${first}\n${keywordSchema}`,
  second,
  third,
  fourth,
  fifth,
  sixth,
  seventh,
  eighth,
  ninth,
  tenth,
  eleventh,
  twelfth,
  thirteenth,
  fourteenth,
  movedSchema,
]

/** The format that has requests: those of an older one are read from its log. */
export const requestsSince = 14

/** What `rebuild` empties and folds again. */
export const viewTables = [
  'log_sessions sessions agents turns messages inboxes refused waits traced notices questions permissions',
  'seen announced woken clients entries spent_days spent_sessions places requests',
].flatMap((names) => names.split(' '))
