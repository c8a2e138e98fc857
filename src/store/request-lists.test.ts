/** Requests by index: which are listed, whom they asked, where, and how they ended for the one who asked. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { world, type World } from '../../test/kits/world.ts'
import { isRefusal } from '../model/refusal.ts'
import type { FlowSummary, FlowsQuery } from '../wire/flows.ts'
import { openDatabase } from './directory.ts'
import { prepareLists } from './lists.ts'
import { rebuild, viewsEqual } from './rebuild.ts'
import { migrations, requestsSince } from './schema.ts'

/** Where nobody else works: this package may be anywhere, also below /tmp. */
const there = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-there-')))
afterAll(() => rmSync(there, { recursive: true }))

const fails = async (): Promise<string> => Promise.reject(new Error('no compiler here'))

const busy = () => world({ agents: { coder: { script: fails }, writer: { script: async () => 'written' } } })

async function list(w: World, query: Partial<FlowsQuery>): Promise<FlowSummary[]> {
  const page = await w.desks.as({}).log.flows(query)
  if (isRefusal(page)) throw new Error(JSON.stringify(page))
  return page.flows
}
const titles = async (w: World, query: Partial<FlowsQuery>): Promise<string[]> =>
  (await list(w, query)).map(({ title }) => title)

/** Requests of a person and of a client, some in the background, some refused. */
async function fill(w: World): Promise<void> {
  await w.run('coder', 'Build it')
  await w.run('writer', 'Write it')
  const client = w.desks.as({ client: { name: 'claude-code', cwd: there } })
  await w.until(client.calls.open({ agent: 'coder', task: 'Build there' }))
  await w.until(client.calls.open({ agent: 'writer', task: 'Write there' }))
  await w.until(client.calls.open({ agent: 'nobody', task: 'Paint there' }))
  await w.until(client.calls.open({ agent: 'coder', task: 'Build later', background: true }))
  await w.rest()
}

test('requests are found by how they ended, whom they asked and where, whoever made them', async () => {
  const w = await busy()
  await fill(w)
  expect(await titles(w, {})).toEqual([
    'Build later',
    'Paint there',
    'Write there',
    'Build there',
    'Write it',
    'Build it',
  ])
  expect(await titles(w, { state: 'failed' })).toEqual([
    'Build later',
    'Paint there',
    'Build there',
    'Build it',
  ])
  expect(await titles(w, { agent: 'writer' })).toEqual(['Write there', 'Write it'])
  expect(await titles(w, { agent: 'writer', project: there })).toEqual(['Write there'])
  expect(await titles(w, { project: there, state: 'unseen' })).toEqual([
    'Build later',
    'Paint there',
    'Build there',
  ])
  expect(await titles(w, { project: '/tm' })).toEqual([])
  expect(await titles(w, { agent: 'nobody' })).toEqual([])
  expect(await titles(w, { state: 'live' })).toEqual([])
})

test('pages of any size are the whole list, each once', async () => {
  const w = await busy()
  await fill(w)
  for (const query of [{}, { state: 'failed' as const }, { project: '/' }, { agent: 'coder' }]) {
    const whole = await titles(w, query)
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await w.desks
        .as({})
        .log.flows({ ...query, limit: 1, ...(cursor === '' ? {} : { cursor }) })
      if (isRefusal(page)) throw new Error(JSON.stringify(page))
      paged.push(...page.flows.map(({ title }) => title))
      cursor = page.next
    }
    expect(paged).toEqual(whole)
  }
})

test('R10: requests of an older format are filled in as a fold of the log makes them', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-requests-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const w = await busy()
  await fill(w)
  const file = join(directory, 'tieline.db')
  w.store.db.exec(`vacuum into '${file}'`)
  const old = new DatabaseSync(file)
  old.exec(`drop view all_turns; drop table moved_turns; alter table sessions drop column moved;
    create table moved_flows (flow text primary key, segment integer not null) strict, without rowid;
    drop table requests; drop table places; pragma user_version = ${requestsSince - 1};
    create index turns_roots on turns (opened_seq) where caller is null`)
  old.close()
  const db = openDatabase(file)
  onTestFinished(() => db.close())
  expect(db.prepare('select count(*) as n from requests where failed = 1').get()).toEqual({ n: 4 })
  expect(viewsEqual(db)).toEqual({ equal: true, difference: null })
  rebuild(db)
  expect(viewsEqual(db)).toEqual({ equal: true, difference: null })
})

test('R11: a rare request behind thousands of others is on the first page', async () => {
  const db = new DatabaseSync(':memory:')
  for (const step of migrations) db.exec(step)
  const add = db.prepare(
    `insert into requests (seq, turn, agent, place, framed, look, ended, failed, unseen)
      values (?1, printf('turn_%d', ?1), iif(?1 = 1, 'rare', 'common'), iif(?1 = 1, 1, 2), 0, ?1 > 1 and ?1 % 2, 1,
        ?1 = 1, ?1 = 1)`,
  )
  db.exec(`insert into places values (1, '/work/rare'), (2, '/work/common'), (3, '/workshop')`)
  for (let seq = 1; seq <= 10_000; seq += 1) add.run(seq)
  const lists = prepareLists(db)
  for (const ask of [
    { state: 'failed' as const },
    { state: 'unseen' as const },
    { agents: ['rare'] },
    { agents: ['none', 'rare'] },
    { dir: '/work/rare' },
    { dir: '/work/rare', agents: ['rare'] },
  ])
    expect(await lists.roots({ before: null, ...ask }, 10)).toEqual({
      roots: [{ turn: 'turn_1', openedSeq: 1, seen: false }],
      next: null,
    })
  const all = await lists.roots({ before: null, dir: '/work' }, 3)
  expect([all.roots.map(({ openedSeq }) => openedSeq), all.next]).toEqual([[10_000, 9998, 9996], 9996])
  expect(await lists.roots({ before: null, dir: '/workshop' }, 3)).toEqual({ roots: [], next: null })
})
