/**
 * `tieline check` and `tieline rebuild`, through the real command line, and what a server says about a log
 * that is not whole.
 */
import { closeSync, cpSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { StoreFault } from '../../src/store/directory.ts'
import { viewTables } from '../../src/store/schema.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'
import { openLine } from '../../src/open-line.ts'
import { cli, garbage, patience, project, start } from '../kits/cli.ts'
import { askAt, until } from '../kits/http.ts'
import { append, created, ended, said, sent, started } from '../kits/store.ts'

vi.setConfig(patience)

/** A log in which two agents have worked, made once. */
let recorded = ''
let flows: string[] = []
beforeAll(async () => {
  recorded = mkdtempSync(join(tmpdir(), 'tieline-care-'))
  garbage.push(recorded)
  const line = await openLine({
    dataDir: recorded,
    agents: {
      boss: {
        allowSubAgentCalls: true,
        tools: ['sub_agent'],
        async script(turn) {
          const name = turn.task === 'nobody' ? 'nobody' : 'helper'
          return JSON.stringify((await turn.tool('sub_agent', { agent_name: name, task: 'a part' })).value)
        },
      },
      helper: { script: ({ task }) => `did ${task}` },
    },
  })
  for (const task of ['one', 'nobody', 'two']) flows.push((await line.run('boss', task)).flow ?? '')
  await line.close()
}, patience.hookTimeout)

function copied(change: (db: DatabaseSync) => void = () => undefined): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-care-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  cpSync(recorded, directory, { recursive: true })
  changeLog(directory, change)
  return directory
}

function changeLog(directory: string, change: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(join(directory, 'tieline.db'))
  change(db)
  db.close()
}

function counts(directory: string): Record<string, number> {
  const db = new DatabaseSync(join(directory, 'tieline.db'), { readOnly: true })
  const found = Object.fromEntries(
    viewTables.map((table) => [
      table,
      (db.prepare(`select count(*) as n from ${table}`).get() as { n: number }).n,
    ]),
  )
  db.close()
  return found
}

const place = project()
const care = (directory: string, ...args: string[]) => cli(place.cwd, ...args, '--data-dir', directory)
/** The row that ends the first flow's call. */
const breakRow = (db: DatabaseSync, where = `events like '%call.ended%'`): void =>
  void db
    .prepare(
      `update log set events = 'not JSON at all' where seq = (select min(seq) from log where ${where})`,
    )
    .run()

test('check says that a whole log is whole', async () => {
  const { code, out, err } = await care(copied(), 'check')
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(/tieline\.db is whole: \d+ rows with \d+ events/)
  expect(JSON.parse((await care(copied(), 'check', '--json')).out)).toMatchObject({
    ok: true,
    problems: [],
    viewsCompared: true,
    todo: null,
  })
})

test.each(
  viewTables.filter((table) => ['log_sessions', 'sessions', 'turns', 'entries', 'refused'].includes(table)),
)('check finds that %s is not what the log says, and names the cure', async (table) => {
  const { code, out } = await care(
    copied((db) => db.exec(`delete from ${table}`)),
    'check',
    '--json',
  )
  const found = JSON.parse(out) as { ok: boolean; problems: { what: string; says: string }[]; todo: string }
  expect([code, found.ok]).toEqual([1, false])
  expect(found.problems.map(({ what, says }) => `${what} ${says}`).join('\n')).toContain(
    `views ${table}: the view has`,
  )
  expect(found.todo).toContain('tieline rebuild')
})

test('check finds a row that is not JSON, with its number and its flow', async () => {
  const { code, out } = await care(
    copied((db) => breakRow(db)),
    'check',
  )
  expect(code).toBe(1)
  expect(out).toMatch(
    new RegExp(`✗ row \\d+ \\(${flows[0] ?? ''}\\): row \\d+ of the log cannot be read: it is not JSON`),
  )
  expect(out).toContain('was not compared')
  expect(out).toContain('restore the log from a copy')
})

test('check finds an event that is not known, a row that is missing, and numbers that are there twice', async () => {
  const unknown = await care(
    copied((db) => db.exec(`update log set events = replace(events, '"turn.ended"', '"turn.forgotten"')`)),
    'check',
  )
  expect([unknown.code, unknown.out.includes('is not one that this version knows')]).toEqual([1, true])
  const missing = await care(
    copied((db) => db.exec('delete from log where seq = (select min(seq) from log where seq > 4)')),
    'check',
  )
  expect([missing.code, /numbering \d+.*but the row before ends with/.test(missing.out)]).toEqual([1, true])
  const twice = await care(
    copied((db) =>
      db.exec(`
        update log set events = '[' || substr(events, 2, length(events) - 2) || ',' || substr(events, 2)
        where seq = (select max(seq) from log)`),
    ),
    'check',
  )
  expect([twice.code, /numbering \d+/.test(twice.out)]).toEqual([1, true])
})

test('check finds pages that are damaged, and does not advise to rebuild from them', async () => {
  const directory = copied()
  const handle = openSync(join(directory, 'tieline.db'), 'r+')
  // The roots of the first tables.
  for (let page = 2; page < 8; page += 1) writeSync(handle, Buffer.alloc(4096, 7), 0, 4096, page * 4096)
  closeSync(handle)
  const { code, out } = await care(directory, 'check', '--json')
  const found = JSON.parse(out) as { problems: { what: string }[]; todo: string }
  expect([code, found.problems[0]?.what]).toEqual([1, 'file'])
  expect(found.todo).toContain('restore the log from a copy')
  expect(found.todo).not.toContain('rebuild')
})

test('check works beside a running server', async () => {
  const directory = copied()
  const line = await openLine({ dataDir: directory, agents: { helper: { script: () => 'ok' } } })
  onTestFinished(() => line.close())
  await line.run('helper', 'x')
  expect((await care(directory, 'check')).code).toBe(0)
})

test('check says where there is no log', async () => {
  const { code, err } = await care(join(place.cwd, 'nowhere'), 'check')
  expect([code, err]).toEqual([2, expect.stringContaining('there is no log in') as string])
})

describe('rebuild', () => {
  test('derives everything again and says what was different', async () => {
    const before = counts(recorded)
    const directory = copied((db) =>
      db.exec(`delete from turns; delete from entries; update sessions set title = 'changed'`),
    )
    const { code, out } = await care(directory, 'rebuild')
    expect(code).toBe(0)
    for (const table of ['turns', 'entries', 'sessions'])
      expect(out).toContain(`was different: ${table}: the view has`)
    expect(counts(directory)).toEqual(before)
    expect((await care(directory, 'check')).code).toBe(0)
    expect((await care(directory, 'rebuild')).out).toContain('Nothing was different')
  })

  test('is refused while a server owns the directory', async () => {
    const directory = copied()
    const server = start(place.cwd, ['serve', '--port', '0', '--data-dir', directory])
    await server.says('listens on')
    const { code, err } = await care(directory, 'rebuild')
    expect([code, err]).toEqual([2, expect.stringContaining('End it with "tieline stop" first') as string])
    server.child.kill('SIGTERM')
    await server.ended
  })

  test('does not skip rows that it cannot read, except with --leave-out', async () => {
    const directory = copied((db) => {
      breakRow(db)
      db.exec('delete from turns')
    })
    const before = counts(directory)
    const refused = await care(directory, 'rebuild')
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('--leave-out') as string])
    expect(counts(directory)).toEqual(before)
    const { code, out } = await care(directory, 'rebuild', '--leave-out')
    expect([code, /✗ row \d+.* was left out/.test(out)]).toEqual([0, true])
    // The log is as it was, and the other flows are whole again.
    const line = await openLine({
      dataDir: directory,
      onWarning: () => undefined,
      agents: { helper: { script: () => 'ok' } },
    })
    expect((await line.log.events(flows[2] ?? '')).at(-1)?.event.type).toBe('turn.ended')
    await line.close()
  })
})

test('a rebuild that is killed in the middle leaves the views as they were', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-care-'))
  garbage.push(directory)
  const store = sqliteStore({ directory, now: () => 1_800_000_000_000 })
  await append(store, created('ses_a'))
  for (let n = 1; n <= 6000; n += 100) {
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const [turn, text] = [`turn_${String(n + index).padStart(6, '0')}` as const, 'word '.repeat(50)]
        return append(store, sent('ses_a', turn, { text }), started('ses_a', turn), {
          ...ended('ses_a', turn),
          entry: said(2 * (n + index) - 1, text, text),
        })
      }),
    )
  }
  await store.close()
  changeLog(directory, (db) => db.exec("delete from turns where id > 'turn_003000'"))
  const before = counts(directory)
  const rebuilding = start(place.cwd, ['rebuild', '--data-dir', directory])
  // The second half of the rows is folded in place of the views.
  await until(
    () => Number(/(\d+) of \d+ rows folded\n$/.exec(rebuilding.err())?.[1] ?? 0) > 7000,
    'it has begun to write',
  )
  rebuilding.child.kill('SIGKILL')
  expect((await rebuilding.ended).code).toBeNull()
  expect(counts(directory)).toEqual(before)
  expect((await care(directory, 'rebuild')).code).toBe(0)
  expect((await care(directory, 'check')).code).toBe(0)
})

describe('a server', () => {
  test.each(['sessions', 'turns', 'entries', 'log_sessions', 'refused'])(
    'started silently when %s was emptied: it refuses, with the command to run',
    (table) => {
      const directory = copied((db) => db.exec(`delete from ${table}`))
      expect(() => sqliteStore({ directory, now: () => 0 })).toThrow(StoreFault)
      expect(() => sqliteStore({ directory, now: () => 0 })).toThrow(
        new RegExp(`${table}: nothing for .*Run "tieline rebuild"`),
      )
    },
  )

  test('refuses views of a log that is longer than this one', () => {
    const directory = copied((db) => db.exec('delete from log where seq > 3'))
    expect(() => sqliteStore({ directory, now: () => 0 })).toThrow(/the log ends at 3/)
  })

  test('started silently when a row was not JSON: it names the row and its flow once, and goes on', async () => {
    const directory = copied((db) => breakRow(db))
    const server = start(place.cwd, ['serve', '--port', '0', '--json', '--data-dir', directory])
    await until(() => server.out().includes('\n'), 'the server listens')
    const { url } = JSON.parse(server.out()) as { url: string }
    const ask = (path: string) => askAt(url, 'GET', path)
    for (const path of [
      '/api/sessions',
      '/api/calls',
      `/api/flows/${flows[0] ?? ''}`,
      `/api/flows/${flows[0] ?? ''}`,
      '/api/events/log?after=0',
      '/api/numbers',
    ])
      expect([path, (await ask(path)).status]).not.toEqual([path, 500])
    expect((await ask(`/api/flows/${flows[2] ?? ''}`)).status).toBe(200)
    const call = await askAt(url, 'POST', '/api/calls', { agent: 'helper', task: 'x' })
    expect(call.body.outcome).toBe('completed')
    const named = server
      .err()
      .match(
        new RegExp(
          `row \\d+ of the log, which belongs to ${flows[0] ?? ''}, cannot be read: it is not JSON`,
          'g',
        ),
      )
    expect(named?.length).toBe(1)
    server.child.kill('SIGTERM')
    await server.ended
  })
})
