/** What moved lines must not change: whatever is asked of the store, before and after, and after a rebuild. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import {
  append,
  callEnded,
  created,
  ended,
  keysOf,
  opened,
  refused,
  said,
  sent,
  started,
  stepped,
  testClock,
} from '../../../test/kits/store.ts'
import type { Event } from '../../model/event.ts'
import type { FlowId, SessionId, TurnId } from '../../model/id.ts'
import { checkLog } from '../check-log.ts'
import { rebuild, viewsEqual } from '../rebuild.ts'
import { migrations } from '../schema.ts'
import { sqliteStore, type SqliteStore } from '../sqlite.ts'
import { archiveFlows } from './archive-flows.ts'
import { canMove } from './moved-lines.ts'
import { movedSchema } from './moved-schema.ts'

type Place = { directory: string; open: () => SqliteStore }

function place(): Place {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-moved-'))
  const stores: SqliteStore[] = []
  onTestFinished(async () => {
    for (const store of stores) await store.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const open = (): SqliteStore => {
    const store = sqliteStore({ directory, now: testClock().now })
    stores.push(store)
    return store
  }
  return { directory, open }
}

const movedFormat = migrations.indexOf(movedSchema) + 1
const boss: SessionId = 'ses_boss'
const archive = (session: SessionId): Event => ({
  type: 'session.archived',
  session,
  turn: null,
  cause: 'idle',
})
const root = (n: number): TurnId => `turn_100${n}00`
const flowOf = (n: number): FlowId => `flow_100${n}00`
const calls = [1, 2, 3].map((n) => `turn_100${n}77` as TurnId)

/** One request of `ses_boss`: its turn calls a session of its own, which a message of that turn follows. */
async function ask(store: SqliteStore, n: number): Promise<void> {
  const [turn, flow, callee]: [TurnId, FlowId, SessionId] = [root(n), flowOf(n), `ses_100${n}77`]
  const asks = { ...sent(boss, turn, { flow, text: `question ${n}` }), message: `msg_100${n}00` as const }
  await append(store, asks, started(boss, turn))
  const call = opened({ from: boss, in: turn, call: `call_100${n}77`, to: callee, flow })
  await append(store, call, created(callee, 'ephemeral'), started(callee, calls[n - 1] as TurnId))
  await append(store, {
    type: 'question.asked',
    session: boss,
    turn,
    question: `q_${n}`,
    key: 'k',
    agent: 'boss',
    tool: 'shell',
    input: null,
    path: [],
    flow,
    deadline: 1_000_000_000,
  })
  const [heir, next]: [SessionId, TurnId] = [`ses_100${n}66`, `turn_100${n}66`]
  const letter = {
    ...sent(heir, next, { flow }),
    message: `msg_100${n}66` as const,
    from: boss,
    senderTurn: turn,
  }
  await append(store, created(heir, 'ephemeral'), letter, started(heir, next), ended(heir, next, 3))
  await append(store, refused(boss, turn, `call_100${n}88`))
  const [overTurn, overCall] = [
    ended(callee, calls[n - 1] as TurnId, 7),
    callEnded(boss, turn, `call_100${n}77`, callee),
  ]
  await append(store, stepped(callee, calls[n - 1] as TurnId, null), overTurn, overCall)
  const entry = said(2 * n - 1, `question ${n}`, `answer ${n} keyword`, { startedAt: 1_000_000 })
  const over = {
    ...ended(boss, turn, 5, entry, ['read']),
    outcome: n === 2 ? 'failed' : 'completed',
  } as const
  // A row that is not of one flow only stays in the log, whatever becomes of its lines.
  await append(store, over, ...(n === 3 ? [created('ses_third')] : []))
}

async function grow(store: SqliteStore): Promise<void> {
  await append(store, created(boss))
  for (const n of [1, 2, 3]) await ask(store, n)
  await append(store, archive(boss))
  // Somebody else, whose work goes on.
  await append(store, created('ses_other'), sent('ses_other', 'turn_1009999', { flow: 'flow_1009999' }))
}

const move = (store: SqliteStore, endedBefore = Number.MAX_SAFE_INTEGER) =>
  store.archive?.({ endedBefore, now: 1, unitsPerSegment: 1 })

/** What of a turn stands in its events only, once it was moved. */
const withoutEvents = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, part: unknown) =>
      ['node', 'deadline', 'key'].includes(key) && typeof part !== 'object' ? undefined : part,
    ).replaceAll('"node":null,', ''),
  )

async function lookAt(store: SqliteStore): Promise<unknown> {
  const seen: unknown[] = []
  const all = [...calls, ...[1, 2, 3].map(root), 'turn_1009999' as TurnId]
  for (const turn of all) seen.push(await store.turn(turn))
  const facts = await store.transact([...keysOf(boss), 'message:100100', 'message:100166'], async (tx) => [
    await tx.activation(root(1)),
    await tx.question('q_1' as never),
    await tx.turn(root(2)),
    await tx.message('msg_100100'),
    await tx.message('msg_100166'),
  ])
  for (const n of [1, 2, 3]) seen.push(await store.turns({ flow: flowOf(n) }, 10))
  seen.push(facts, await store.turns({ flow: flowOf(1) }, 1))
  const { lists } = store
  for (const session of [null, boss, 'ses_100277' as SessionId])
    for (let before: number | null = null, page = 0; page < 9; page += 1) {
      const { calls: rows, next } = await lists.calls({ session, before }, 2)
      seen.push(rows)
      if (next === null) break
      before = next
    }
  for (const state of [undefined, 'failed', 'unseen', 'ended', 'live'] as const)
    seen.push(await lists.roots({ before: null, ...(state === undefined ? {} : { state }) }, 2))
  for (const part of ['100177', '00177', '1002', '00200', '']) {
    seen.push(await lists.idsLike('call', part, 10), await lists.idsLike('flow', part, 10))
    seen.push(await lists.sessionsLike(part, 10))
  }
  seen.push(await lists.listing({ archived: true }, 10), await lists.spentBy(boss))
  return withoutEvents(seen)
}

const filters = [
  {},
  { roles: ['user' as const] },
  { roles: ['tool' as const] },
  { last_messages: 3 },
  { keywords: ['question 2'] },
  { max_age_seconds: 1 },
]
async function readConversation(store: SqliteStore): Promise<unknown> {
  const seen: unknown[] = [
    await store.session(boss),
    await store.entriesByNumber(boss, [1, 2, 3, 4, 5, 6, 7]),
  ]
  for (const filter of filters)
    for (const tokensMax of [2, 4000])
      seen.push(await store.entries(boss, { filter, now: 1_000_500, tokensMax }))
  return JSON.parse(JSON.stringify(seen))
}

test('facts, pages, ids and conversations are the same after the lines were moved', async () => {
  const { directory, open } = place()
  const store = open()
  await grow(store)
  const before = [await lookAt(store), await readConversation(store)]
  expect(await move(store)).toMatchObject({ flows: 3 })
  const count = (table: string) => store.db.prepare(`select count(*) as n from ${table}`).get()
  expect([count('turns'), count('moved_turns'), count('entries')]).toEqual([{ n: 1 }, { n: 9 }, { n: 3 }])
  expect(store.db.prepare('select count(*) as n from log_sessions where session = ?').get(boss)).toEqual({
    n: 1,
  })
  expect([await lookAt(store), await readConversation(store)]).toEqual(before)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  rebuild(store.db)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  await store.close()
  const again = open()
  expect([await lookAt(again), await readConversation(again)]).toEqual(before)
  await again.close()
  expect(await checkLog(join(directory, 'tieline.db'))).toMatchObject({ ok: true, problems: [] })
})

test('what happens to a moved request later is folded', async () => {
  const { open } = place()
  const store = open()
  await grow(store)
  await move(store)
  await append(store, { type: 'flow.seen', session: boss, turn: null, flow: flowOf(2) })
  expect((await store.lists.roots({ before: null, state: 'unseen' }, 9)).roots).toEqual([])
  const reply = { type: 'message.answered', message: 'msg_100100', reply: 'msg_9', from: null } as const
  await append(store, { ...reply, session: boss, turn: null })
  expect(await store.transact(['message:100100'], (tx) => tx.message('msg_100100'))).toMatchObject({
    status: 'answered',
  })
  // The session is brought back, and goes on behind what was moved.
  await append(store, sent(boss, root(4), { flow: flowOf(4), text: 'question 4' }), started(boss, root(4)))
  await append(store, ended(boss, root(4), 1, said(7, 'question 4', 'answer 4')))
  const texts = (await store.entriesByNumber(boss, [5, 6, 7, 8])).map(({ text }) => text)
  expect(texts).toEqual(['question 3', 'answer 3 keyword', 'question 4', 'answer 4'])
  const { events } = await store.read(0, { sessions: [boss] }, 1000)
  expect(events.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq).toSorted((a, b) => a - b))
  expect(events.filter(({ event }) => event.type === 'turn.ended')).toHaveLength(4)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('a crash between the rows and their lines: the lines are moved the next time', async () => {
  const { directory, open } = place()
  const store = open()
  await grow(store)
  await move(store)
  // As if the process had died before: the lines of the third flow are still there.
  store.db.exec(`create table kept as select id from moved_turns where id like '%1003__';
    delete from moved_turns where id in (select id from kept); drop table kept`)
  rebuild(store.db)
  expect(store.db.prepare('select count(*) as n from turns').get()).toEqual({ n: 4 })
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  const before = [await lookAt(store), await readConversation(store)]
  expect(await move(store)).toMatchObject({ flows: 1, rows: 0 })
  expect([await lookAt(store), await readConversation(store)]).toEqual(before)
  expect(await move(store)).toMatchObject({ flows: 0 })
  await store.close()
  expect(await checkLog(join(directory, 'tieline.db'))).toMatchObject({ ok: true, problems: [] })
})

test('R10: views differed from the log after a crash between the first moved rows and their lines', async () => {
  const { directory, open } = place()
  const store = open()
  await grow(store)
  const before = [await lookAt(store), await readConversation(store)]
  let commits = 0
  const commit = async (write: (db: DatabaseSync) => void): Promise<void> =>
    (commits += 1) > 1 ? Promise.reject(new Error('killed')) : write(store.db)
  const ask = { endedBefore: Number.MAX_SAFE_INTEGER, now: 1, unitsPerSegment: 1e9 }
  await expect(archiveFlows({ reader: store.db, commit }, ask)).rejects.toThrow('killed')
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  rebuild(store.db)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  expect(await move(store)).toMatchObject({ flows: 3, rows: 0 })
  expect([await lookAt(store), await readConversation(store)]).toEqual(before)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  await store.close()
  expect(await checkLog(join(directory, 'tieline.db'))).toMatchObject({ ok: true, problems: [] })
})

/** As the format before had it: all lines in `turns`, and only the texts of entries gone. */
function layOutAsBefore(directory: string, whole: string): void {
  const db = new DatabaseSync(join(directory, 'tieline.db'))
  db.exec(`attach '${whole}' as whole`)
  for (const table of ['turns', 'log_sessions', 'entries', 'requests'])
    db.exec(`delete from main.${table}; insert into main.${table} select * from whole.${table}`)
  db.exec(`detach whole; update entries set text = '' where turn in (select id from moved_turns);
    create table moved_flows (flow text primary key, segment integer not null) strict, without rowid;
    insert into moved_flows select 'flow_' || substr(id, 6), 1 from moved_turns where root = seq;
    drop view all_turns; drop table moved_turns; alter table sessions drop column moved;
    pragma user_version = ${movedFormat - 1}`)
  db.close()
}

test('a directory of the format before has its lines moved when it is opened', async () => {
  const { directory, open } = place()
  const store = open()
  await grow(store)
  const before = [await lookAt(store), await readConversation(store)]
  const whole = join(directory, 'whole.db')
  store.db.exec(`vacuum into '${whole}'`)
  await move(store)
  await store.close()
  layOutAsBefore(directory, whole)
  const again = open()
  expect(again.db.prepare('select count(*) as n from turns').get()).toEqual({ n: 1 })
  expect([await lookAt(again), await readConversation(again)]).toEqual(before)
  expect(viewsEqual(again.db)).toEqual({ equal: true, difference: null })
})

test('a line is moved after that of its flow and that of its caller, and only when its turn is over', () => {
  const line = (id: string, callerTurn: string | null = null) => ({
    id,
    flow: 'flow_1',
    callerTurn,
    state: 'ended',
    live: 0,
  })
  expect(canMove(line('turn_1'), new Set())).toBe(true)
  expect(canMove(line('turn_2', 'turn_1'), new Set(['turn_1']))).toBe(true)
  expect(canMove(line('turn_2'), new Set())).toBe(false)
  expect(canMove(line('turn_3', 'turn_2'), new Set(['turn_1']))).toBe(false)
  expect(canMove({ ...line('turn_1'), live: 1 }, new Set())).toBe(false)
  expect(canMove({ ...line('turn_1'), state: 'running' }, new Set())).toBe(false)
})
