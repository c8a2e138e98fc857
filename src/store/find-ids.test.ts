import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { prepareLists } from './lists.ts'
import { migrations } from './schema.ts'

/** More than a list looks through. */
const count = 3000

const number = (n: number): string =>
  `217149837${String(((n + 1) * 15_485_863) % 982_451_653).padStart(12, '1')}`

function filled(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  for (const step of migrations) db.exec(step)
  const session = db.prepare(
    `insert into sessions (id, agent, kind, cwd, title, created_at, archived)
      values (?, ?, 'persistent', ?, '', ?, null)`,
  )
  const turn = db.prepare(
    `insert into turns (id, session, flow, state, live, caller, opened_at, opened_seq)
      values (?, ?, ?, 'ended', 0, ?, ?, ?)`,
  )
  const request = db.prepare(
    `insert into requests (seq, turn, agent, framed, look, ended, failed, unseen) values (?, ?, 'a', 0, 0, 1, 0, 0)`,
  )
  const refused = db.prepare(
    `insert into refused (call, caller, caller_turn, flow, seq) values (?, 'ses_a', 'turn_a', 'flow_a', ?)`,
  )
  db.exec('begin')
  for (let n = 0; n < count; n += 1) {
    const id = number(n)
    session.run(`ses_${id}`, n === 0 ? 'rare' : 'common', n === 0 ? '/rare' : '/common', n)
    turn.run(`turn_${id}`, `ses_${id}`, `flow_${id}`, null, n, 3 * n + 1)
    request.run(3 * n + 1, `turn_${id}`)
    turn.run(`turn_1${id}`, `ses_${id}`, `flow_${id}`, 'ses_a', n, 3 * n + 2)
    refused.run(`call_3${id}`, 3 * n + 3)
  }
  db.exec('commit')
  return db
}

test('the oldest is found by how its id ends, by how it begins and whole, at any number of newer ones', async () => {
  const lists = prepareLists(filled())
  const oldest = number(0)
  for (const part of [oldest, `flow_${oldest}`, `flow_${oldest.slice(0, 20)}`, oldest.slice(0, 20)])
    expect(await lists.idsLike('flow', part, 11)).toContain(`flow_${oldest}`)
  const last = `${number(1)}`
  expect(await lists.idsLike('flow', last.slice(-8), 11)).toEqual([`flow_${last}`])
  expect(await lists.idsLike('call', `call_1${last}`, 11)).toEqual([`call_1${last}`])
  expect(await lists.idsLike('call', `call_3${last}`, 11)).toEqual([`call_3${last}`])
  expect(new Set(await lists.idsLike('call', last.slice(-8), 11))).toEqual(
    new Set([`call_1${last}`, `call_3${last}`]),
  )
  expect(await lists.sessionsLike(last.slice(-8), 11)).toEqual([`ses_${last}`])
})

test('a part from the middle finds the newest, and nothing finds what is not there', async () => {
  const lists = prepareLists(filled())
  const newest = number(count - 1)
  expect(await lists.idsLike('flow', newest.slice(8, -1), 11)).toContain(`flow_${newest}`)
  expect(await lists.idsLike('flow', '', 1)).toEqual([`flow_${newest}`])
  expect(await lists.idsLike('flow', 'nowhere', 11)).toEqual([])
  expect(await lists.sessionsLike('nowhere', 11)).toEqual([])
})

test('a page of sessions may be short, and says where to go on; by agent and directory it is never', async () => {
  const lists = prepareLists(filled())
  const rare = `ses_${number(0)}`
  const ids = async (ask: Parameters<typeof lists.listing>[0]) => {
    const { sessions, next } = await lists.listing(ask, 10)
    return { ids: sessions.map(({ row }) => row.id), next }
  }
  expect(await ids({ archived: false, agent: 'rare' })).toEqual({ ids: [rare], next: null })
  expect(await ids({ archived: false, dir: '/rare' })).toEqual({ ids: [rare], next: null })
  expect(await ids({ archived: false, active: true })).toEqual({ ids: [], next: null })
  const first = await ids({ archived: true, agent: 'rare' })
  expect(first.ids).toEqual([])
  expect(first.next).not.toBeNull()
  const before = first.next as NonNullable<typeof first.next>
  expect(await ids({ archived: true, agent: 'rare', before })).toEqual({ ids: [rare], next: null })
})

test('archived sessions are listed only where they are asked for, also below a parent', async () => {
  const db = filled()
  const below = db.prepare(
    `insert into sessions (id, agent, kind, parent, cwd, title, created_at, archived)
      values (?, 'common', 'persistent', 'ses_top', '/common', '', ?, ?)`,
  )
  below.run('ses_old', 1, 'idle')
  below.run('ses_new', 2, null)
  const lists = prepareLists(db)
  const ids = async (archived: boolean): Promise<string[]> =>
    (await lists.listing({ archived, parent: 'ses_top' }, 10)).sessions.map(({ row }) => row.id)
  expect(await ids(false)).toEqual(['ses_new'])
  expect(await ids(true)).toEqual(['ses_new', 'ses_old'])
})

test('a request that was moved, and its call, are found by how they end or begin, however old they are', async () => {
  const db = filled()
  const id = number(0)
  const names = 'seq, id, root, above, background, epoch, opened_at, ended_seq, made'
  const move = db.prepare(
    `insert into moved_turns (${names}, tokens_used, tokens_below, spent, spent_plan, usd_below)
      values (?, ?, 1, ?, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0)`,
  )
  move.run(1, `turn_${id}`, null)
  move.run(2, `turn_1${id}`, 1)
  db.exec(
    `delete from turns where id in (select id from moved_turns); update requests set turn = '' where seq = 1`,
  )
  const lists = prepareLists(db)
  for (const part of [id.slice(-6), id, id.slice(0, -1)]) {
    expect(await lists.idsLike('flow', part, 10)).toContain(`flow_${id}`)
  }
  for (const part of [id.slice(-6), id, `1${id.slice(0, -1)}`])
    expect(await lists.idsLike('call', part, 10)).toContain(`call_1${id}`)
})
