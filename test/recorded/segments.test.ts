/** What left the log for segments opens as before, and a segment that is lost is an error of its own flows only. */
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { isRefusal, type ScriptedTurn } from '../../src/index.ts'
import type { SessionId } from '../../src/model/id.ts'
import { logCare } from '../../src/log-care.ts'
import { openLine, type OpenLine } from '../../src/open-line.ts'
import { archiveFlows, type ArchivePorts } from '../../src/store/archive/archive-flows.ts'
import { listRows } from '../../src/store/log-row.ts'
import { garbage, patience } from '../kits/cli.ts'

vi.setConfig(patience)

const agents = {
  boss: {
    allowSubAgentCalls: true,
    tools: ['sub_agent'],
    script: async (turn: ScriptedTurn) =>
      JSON.stringify((await turn.tool('sub_agent', { agent_name: 'helper', task: `a part of ${turn.task}` })).value),
  },
  helper: { script: ({ task }: { task: string }) => `did ${task}` },
}
const open = (dataDir: string): Promise<OpenLine> => openLine({ dataDir, agents })
const file = (directory: string): string => join(directory, 'tieline.db')
const later = 9_000_000_000_000

let recorded = ''
/** Three requests: the first two have a session that was archived, the third one that was not. */
let flows: string[] = []
let sessions: SessionId[] = []

async function putAway(line: OpenLine, session: SessionId): Promise<void> {
  await line.store.transact([`session:${session}`], async (tx) =>
    tx.append({ type: 'session.archived', session, turn: null, cause: 'idle' }),
  )
}

beforeAll(async () => {
  recorded = mkdtempSync(join(tmpdir(), 'tieline-segments-'))
  garbage.push(recorded)
  const line = await open(recorded)
  for (const task of ['one', 'two', 'three']) {
    const { flow, session } = await line.run('boss', task)
    flows.push(flow ?? '')
    sessions.push(session as SessionId)
  }
  // A second request in the first session: both leave with it.
  await line.run('boss', 'four', { session: sessions[0] as SessionId })
  for (const session of sessions.slice(0, 2)) await putAway(line, session)
  await line.close()
}, patience.hookTimeout)

function copied(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-segments-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  cpSync(recorded, directory, { recursive: true })
  return directory
}

async function archived(): Promise<string> {
  const directory = copied()
  const done = await logCare.archive({ directory, now: 1, endedBefore: later })
  expect(done).toMatchObject({ flows: 3, segments: 1 })
  return directory
}

/** Everything that looks back, from one log. */
async function lookBack(directory: string): Promise<unknown> {
  const line = await open(directory)
  try {
    const seen: unknown[] = [(await line.store.read(0, {}, 1000)).events]
    seen.push(await line.store.lists.calls({ session: null, before: null }, 50))
    for (const flow of flows) {
      const { header, text } = await line.log.export(flow)
      const replayed = await line.log.replay(flow)
      expect(replayed).toMatchObject({ equal: true })
      expect(JSON.stringify(await line.log.explain(flow))).toContain('boss is done')
      seen.push(await line.log.events(flow))
      seen.push({ ...header, at: null }, text.split('\n').slice(1))
    }
    for (const session of sessions) {
      seen.push(await line.store.session(session), await line.log.events(session))
      seen.push(await line.store.entriesByNumber(session, [1, 2, 3, 4]))
      seen.push(await line.store.entries(session, { filter: { keywords: ['did'] }, now: 0, tokensMax: 4000 }))
    }
    return JSON.parse(JSON.stringify(seen))
  } finally {
    await line.close()
  }
}

test('what was moved opens as before: log, flow, call, session, conversation, export, replay', async () => {
  const [before, directory] = [await lookBack(copied()), await archived()]
  const db = new DatabaseSync(file(directory), { readOnly: true })
  const { rows } = db.prepare('select count(*) as rows from log').get() as { rows: number }
  const { left } = db.prepare(`select count(*) as left from entries where text <> ''`).get() as { left: number }
  db.close()
  // Only the request whose session is not archived is still in the log.
  expect([rows, left]).toEqual([4, 2])
  expect(await lookBack(directory)).toEqual(before)
})

test('R10: check and rebuild read segments, and a second look moves nothing', async () => {
  const directory = await archived()
  const { events } = await logCare.check(file(recorded))
  expect(await logCare.check(file(directory))).toMatchObject({ ok: true, events })
  expect(await logCare.rebuild({ directory })).toMatchObject({ differed: [], leftOut: [] })
  const again = { directory, now: 2, endedBefore: later }
  expect(await logCare.previewArchive(again)).toMatchObject({ flows: 0 })
  expect(await logCare.archive(again)).toMatchObject({ flows: 0, segments: 0 })
})

test('views that were lost are derived from the log and its segments alike', async () => {
  const directory = await archived()
  const db = new DatabaseSync(file(directory))
  db.exec('delete from turns; delete from entries; delete from log_sessions')
  db.close()
  expect((await logCare.rebuild({ directory })).differed.length).toBeGreaterThan(2)
  expect(await logCare.check(file(directory))).toMatchObject({ ok: true })
})

test('a session whose conversation was moved goes on where it was, and new events are numbered on', async () => {
  const directory = await archived()
  const before = (await logCare.check(file(recorded))).events
  const line = await open(directory)
  const session = sessions[0] as SessionId
  const { outcome } = await line.run('boss', 'five', { session })
  expect(outcome).toBe('completed')
  expect(line.store.lastSeq()).toBeGreaterThan(before)
  const texts = (await line.store.entriesByNumber(session, [1, 3, 5])).map(({ text }) => text)
  expect(texts).toEqual(['one', 'four', 'five'])
  await line.close()
  expect(await logCare.check(file(directory))).toMatchObject({ ok: true })
})

test.each([
  ['ended only a moment ago', async () => undefined, 1],
  ['has a session with a draft', (line: OpenLine) => draft(line), later],
  ['has a session with mail that waits', (line: OpenLine) => mail(line), later],
] as const)('a flow stays in the log that %s', async (_what, prepare, endedBefore) => {
  const directory = copied()
  const line = await open(directory)
  await prepare(line)
  await line.close()
  const { flows: count } = await logCare.previewArchive({ directory, now: 1, endedBefore })
  expect(count).toBe(endedBefore === later ? 2 : 0)
})

/** In the second session, whose flow then stays; its two neighbours in the first go. */
async function draft(line: OpenLine): Promise<void> {
  const session = sessions[1] as SessionId
  await line.store.transact([`session:${session}`, 'message:msg_1'], async (tx) =>
    tx.append({
      type: 'message.drafted',
      session,
      turn: null,
      message: 'msg_1',
      target: { kind: 'session', session: sessions[2] as SessionId },
      text: 'not sent yet',
      inReplyTo: null,
      act: null,
    } as never),
  )
}

async function mail(line: OpenLine): Promise<void> {
  await line.store.transact([`session:${sessions[1] as SessionId}`], async () => {
    line.store.db.prepare('insert into inboxes (session, waiting) values (?, 1)').run(sessions[1] as SessionId)
  })
}

test('a crash after a segment was written, before the log let its rows go, loses nothing', async () => {
  const directory = copied()
  const db = new DatabaseSync(file(directory))
  const ports: ArchivePorts = { reader: db, commit: () => Promise.reject(new Error('killed')) }
  const ask = { endedBefore: later, now: 1, unitsPerSegment: 1 }
  await expect(archiveFlows(ports, ask)).rejects.toThrow('killed')
  db.close()
  expect(readdirSync(join(directory, 'segments'))).toHaveLength(1)
  expect(await logCare.check(file(directory))).toMatchObject({ ok: true })
  expect(await logCare.archive({ directory, now: 2, endedBefore: later })).toMatchObject({ flows: 3 })
  expect(await logCare.check(file(directory))).toMatchObject({ ok: true })
})

test('a segment that is missing or damaged is an error of its own flows, and check names it', async () => {
  const directory = copied()
  const db = new DatabaseSync(file(directory))
  const commit: ArchivePorts['commit'] = async (write) => write(db)
  await archiveFlows({ reader: db, commit }, { endedBefore: later, now: 1, unitsPerSegment: 1 })
  db.close()
  const [first = '', second = ''] = readdirSync(join(directory, 'segments'))
  rmSync(join(directory, 'segments', first))
  const line = await open(directory)
  await expect(line.log.events(flows[0] as string)).rejects.toThrow(/segment .+ is missing/)
  expect(await line.log.events(flows[1] as string)).not.toEqual([])
  expect((await line.run('helper', 'new work')).outcome).toBe('completed')
  await line.close()
  writeFileSync(join(directory, 'segments', second), Buffer.alloc(5000))
  const { ok, problems } = await logCare.check(file(directory))
  expect(ok).toBe(false)
  expect(problems.map(({ what, says }) => `${what}: ${says}`)).toEqual([
    expect.stringMatching(/^segment: the segment .+ is missing/),
    expect.stringMatching(/^segment: the segment .+ is damaged/),
  ])
  await expect(logCare.rebuild({ directory })).rejects.toThrow(/Nothing was changed/)
})

test('a server moves what is old while it works, and gives the space back', async () => {
  const directory = copied()
  const line = await open(directory)
  const rows = [...listRows(line.store.db)]
  const asked = line.store.archive?.({ endedBefore: later, now: 1, unitsPerSegment: 1 })
  const ran = await line.run('helper', 'meanwhile')
  expect(isRefusal(ran)).toBe(false)
  expect(await asked).toMatchObject({ flows: 3, segments: 3 })
  expect([...listRows(line.store.db)].slice(0, rows.length)).toMatchObject(rows)
  const { freelist_count: free } = line.store.db.prepare('pragma freelist_count').get() as Record<string, number>
  expect(free).toBe(0)
  await line.close()
  expect(existsSync(join(directory, 'segments'))).toBe(true)
  expect(await logCare.check(file(directory))).toMatchObject({ ok: true })
})
