/** Mail as AgentFS databases and as files, opened by `agentfs-sdk` itself: equal to the record, rebuilt when it is gone, noticed when it is damaged. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentFS, type ToolCall } from 'agentfs-sdk'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SessionId } from '../src/model/id.ts'
import type { MessageRecord } from '../src/runtime/mail-record.ts'
import { systemClock } from '../src/runtime/system-clock.ts'
import { mailView, type MailView, type MailViewDeps } from '../src/views/mail-view.ts'
import { mailWorld, user, type MailWorld } from './mail-kit.ts'

type Seen = { messages: Record<string, MessageRecord>; tools: ToolCall[]; captured: boolean }

let directory = ''
let warnings: string[] = []
const open = new Set<MailView>()

beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'tieline-mail-view-')), 'mail')
  warnings = []
})
afterEach(async () => {
  for (const view of open) await view.close()
  open.clear()
  rmSync(join(directory, '..'), { recursive: true, force: true })
})

async function viewOf(w: MailWorld, more: Partial<MailViewDeps> = {}): Promise<MailView> {
  const view = await mailView({ storage: 'agentfs', directory, cdc: true, tracing: true, store: w.store, mail: w.exchange.mail, clock: systemClock, warn: (text) => warnings.push(text), ...more })
  if (view === null) throw new Error('there is no view')
  const deaf = w.exchange.subscribe(w.exchange.lastSeq(), { sessions: null }, { events: (events) => view.events(events), delta: () => undefined })
  const closing = view.close
  const made = { ...view, close: async () => { deaf(); open.delete(made); await closing() } }
  open.add(made)
  return made
}

/** Brings the view up to date, and closes it, so that its files can be opened. */
async function once(w: MailWorld, more: Partial<MailViewDeps> = {}): Promise<void> {
  const view = await viewOf(w, more)
  await view.settled()
  await view.close()
}

async function inDatabase(session: SessionId): Promise<Seen> {
  const fs = await AgentFS.open({ path: join(directory, `${session}.db`) })
  try {
    const messages: Seen['messages'] = {}
    for (const name of await fs.fs.readdir('/messages')) messages[name] = JSON.parse(await fs.fs.readFile(`/messages/${name}`, 'utf8')) as MessageRecord
    const tables = (await (await fs.getDatabase().prepare(`select name from sqlite_master where name = 'turso_cdc'`)).all()) as unknown[]
    return { messages, tools: (await fs.tools.getRecent(0)).toSorted((a, b) => a.id - b.id), captured: tables.length > 0 }
  } finally {
    await fs.close()
  }
}

function inFolder(session: SessionId): Seen['messages'] {
  const folder = join(directory, session)
  return Object.fromEntries(readdirSync(folder).filter((name) => !name.startsWith('.')).map((name) => [name, JSON.parse(readFileSync(join(folder, name), 'utf8')) as MessageRecord]))
}

const records = async (w: MailWorld, ...ids: string[]): Promise<Seen['messages']> => Object.fromEntries(await Promise.all(ids.map(async (id) => {
  const record = await w.ok(w.exchange.mail.message(user, id))
  return [`${record.id}.json`, record] as const
})))

/** A letter that was accepted and answered, one that waits, and one that was declined. */
async function correspondence(): Promise<{ w: MailWorld; a: SessionId; b: SessionId }> {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  for (const id of ['one', 'two', 'three']) await w.use(a, 'send-message', { session: b, message: `letter ${id}`, id })
  await w.use(b, 'buffer', { accept: 'one' })
  await w.use(b, 'send-message', { message: 'an answer', reply: ['one'], id: 'back' })
  await w.ok(w.exchange.mail.decline(user, 'three'))
  await w.rested(a)
  return { w, a, b }
}

const both = ['agentfs', 'files'] as const
const read = async (storage: (typeof both)[number], session: SessionId): Promise<Seen['messages']> => (storage === 'files' ? inFolder(session) : (await inDatabase(session)).messages)

describe.each(both)('%s', (storage) => {
  test('each message is a file by its id with the record that the exchange has, in the place of its receiver only', async () => {
    const { w, a, b } = await correspondence()
    await once(w, { storage })
    expect(await read(storage, b)).toEqual(await records(w, 'one', 'two', 'three'))
    expect(await read(storage, a)).toEqual(await records(w, 'back'))
    expect((await records(w, 'one', 'three'))).toMatchObject({ 'one.json': { status: 'answered', 'in-reply-to': null }, 'three.json': { status: 'declined' } })
    expect(readdirSync(directory).filter((name) => !name.startsWith('.') && !name.endsWith('-wal'))).toHaveLength(2)
    expect(warnings).toEqual([])
  })

  test('what happens to a message later arrives, also the start of a turn that it waited for', async () => {
    const w = await mailWorld({ agents: { coder: { script: async (turn) => { await w.clock.sleep(1000, turn.signal); return 'done' } } } })
    const b = await w.open('coder')
    const view = await viewOf(w, { storage })
    await w.ok(w.exchange.mail.send(user, { session: b, message: 'second', id: 'two' }, null, null))
    await view.settled()
    await w.exchange.send(user, { to: b, text: 'first', source: 'user', from: null, applet: null, delivery: 'auto', inReplyTo: null, id: null, trace: null })
    await w.ok(w.exchange.mail.accept(user, b, 'two', null))
    await view.settled()
    await view.close()
    expect(await read(storage, b)).toMatchObject({ 'two.json': { status: 'queued', accepted_at: expect.any(String) as string } })
    const again = await viewOf(w, { storage })
    await w.rested(b)
    await again.settled()
    await again.close()
    expect(await read(storage, b)).toEqual(await records(w, 'two'))
    expect(await read(storage, b)).toMatchObject({ 'two.json': { status: 'delivered' } })
    expect(warnings).toEqual([])
  })

  test('deleted, it is the same again; so is a single place', async () => {
    const { w, a, b } = await correspondence()
    await once(w, { storage })
    const before = [await read(storage, a), await read(storage, b)]
    rmSync(directory, { recursive: true })
    await once(w, { storage })
    expect([await read(storage, a), await read(storage, b)]).toEqual(before)
    for (const name of readdirSync(directory).filter((found) => found.startsWith(b))) rmSync(join(directory, name), { recursive: true })
    await once(w, { storage })
    expect([await read(storage, a), await read(storage, b)]).toEqual(before)
  })

  test('a cursor that is behind is caught up without doubles; one that does not fit is not believed', async () => {
    const { w, b } = await correspondence()
    await once(w, { storage })
    const [cursor = ''] = readdirSync(directory).filter((name) => name.startsWith('.cursor-'))
    const file = join(directory, cursor)
    const old = readFileSync(file)
    const before = await read(storage, b)
    await w.ok(w.exchange.mail.send(user, { session: b, message: 'more', id: 'more' }, null, null))
    await once(w, { storage })
    const after = { ...before, ...(await records(w, 'more')) }
    expect(await read(storage, b)).toEqual(after)
    for (const text of [old, '{"storage":"' + storage + '","seq":99999999,"sessions":{}}', 'garbage', '']) {
      writeFileSync(file, text)
      await once(w, { storage })
      expect(await read(storage, b)).toEqual(after)
      expect(warnings).toEqual([])
    }
  })

  test('an old copy of a place is noticed', async () => {
    const { w, b } = await correspondence()
    await once(w, { storage })
    const aside = join(directory, '..', 'aside')
    mkdirSync(aside)
    const [from, to] = storage === 'files' ? [join(directory, b), aside] : [directory, aside]
    const names = readdirSync(from).filter((name) => storage === 'files' || name.startsWith(b))
    for (const name of names) copyFileSync(join(from, name), join(to, name))
    await w.ok(w.exchange.mail.decline(user, 'two'))
    await once(w, { storage })
    for (const name of readdirSync(from).filter((found) => storage === 'files' || found.startsWith(b))) unlinkSync(join(from, name))
    for (const name of names) copyFileSync(join(to, name), join(from, name))
    await once(w, { storage })
    expect(await read(storage, b)).toEqual(await records(w, 'one', 'two', 'three'))
  })
})

describe('files', () => {
  test.each([
    ['changed', (folder: string) => writeFileSync(join(folder, 'one.json'), '{}')],
    ['missing', (folder: string) => unlinkSync(join(folder, 'one.json'))],
    ['one too many', (folder: string) => writeFileSync(join(folder, 'stray.json'), '{}')],
    ['without its state', (folder: string) => unlinkSync(join(folder, '.view.json'))],
    ['with half a state', (folder: string) => writeFileSync(join(folder, '.view.json'), '{"log":')],
    ['not a folder', (folder: string) => { rmSync(folder, { recursive: true }); writeFileSync(folder, 'x') }],
  ])('%s is noticed and made anew', async (_, damage) => {
    const { w, b } = await correspondence()
    await once(w, { storage: 'files' })
    damage(join(directory, b))
    await once(w, { storage: 'files' })
    expect(inFolder(b)).toEqual(await records(w, 'one', 'two', 'three'))
    expect(warnings).toEqual([])
  })

  test('only their owner may read them', async () => {
    const { w, b } = await correspondence()
    await once(w, { storage: 'files' })
    expect(statSync(join(directory, b, 'one.json')).mode & 0o077).toBe(0)
    expect(statSync(directory).mode & 0o077).toBe(0)
  })
})

describe('agentfs', () => {
  test.each([
    ['not a database', (file: string) => writeFileSync(file, 'garbage '.repeat(2000))],
    ['empty', (file: string) => writeFileSync(file, '')],
    ['a directory', (file: string) => { rmSync(file); mkdirSync(file) }],
    ['overwritten in the middle', (file: string) => { const bytes = readFileSync(file); bytes.fill(0x5a, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 20_000); writeFileSync(file, bytes) }],
    ['cut off', (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 9000))],
  ])('a database that is %s is noticed and made anew', async (_, damage) => {
    const { w, b } = await correspondence()
    await once(w)
    const before = await inDatabase(b)
    for (const ending of ['-wal', '-shm']) rmSync(join(directory, `${b}.db${ending}`), { force: true })
    damage(join(directory, `${b}.db`))
    await once(w)
    expect(await inDatabase(b)).toEqual(before)
    expect(warnings).toEqual([])
  })

  test.each([
    ['a changed file', (fs: AgentFS) => fs.fs.writeFile('/messages/one.json', '{}')],
    ['a missing file', (fs: AgentFS) => fs.fs.unlink('/messages/one.json')],
    ['a changed use of a tool', (fs: AgentFS) => fs.getDatabase().exec(`update tool_calls set result = '1' where id = 1`)],
    ['a use of a tool that nobody made', (fs: AgentFS) => fs.tools.start('x', {})],
    ['another log', (fs: AgentFS) => fs.kv.set('tieline', { log: 'other', seq: 3, count: 3, sum: 1, tools: 0, toolSum: 0 })],
  ])('%s is noticed, and the database made anew', async (_, damage) => {
    const { w, b } = await correspondence()
    await once(w)
    const before = await inDatabase(b)
    const fs = await AgentFS.open({ path: join(directory, `${b}.db`) })
    await damage(fs)
    await fs.close()
    await once(w)
    expect(await inDatabase(b)).toEqual(before)
  })

  test('uses of tools are in its log, pending first; calls too; nothing where tracing is off', async () => {
    const w = await mailWorld()
    const [a, b] = [await w.open('planner'), await w.open('coder')]
    const view = await viewOf(w)
    await w.ok(w.exchange.mail.send(user, { session: b, message: 'hello', id: 'one' }, null, null))
    await w.use(b, 'buffer', {})
    await w.ok(w.exchange.mail.send(user, { session: a, message: 'hello too', id: 'two' }, null, null))
    await w.use(a, 'call_agent', { agent_id: 'coder', message: 'help' })
    await view.settled()
    await view.close()
    expect((await inDatabase(b)).tools).toMatchObject([{ id: 1, name: 'buffer', status: 'success', parameters: {}, result: { total: 1 }, started_at: Math.floor(w.clock.now() / 1000) }])
    expect((await inDatabase(a)).tools).toMatchObject([{ name: 'call_agent', status: 'success', parameters: { agent: 'coder', session: expect.stringMatching(/^ses_/) as string, task: 'help', input: null }, result: 'did help' }])
    rmSync(directory, { recursive: true })
    await once(w, { tracing: false })
    expect((await inDatabase(b)).tools).toEqual([])
  })

  test('a tool that has begun and not ended has a pending row, and one row when it has', async () => {
    const w = await mailWorld()
    const b = await w.ok(w.exchange.createSession(user, { cwd: tmpdir(), agent: 'external', model: null, title: '', parent: null, initialMessage: null, id: null, trace: null }))
    await w.ok(w.exchange.mail.send(user, { session: b.sessionId, message: 'hello', id: 'one' }, null, null))
    await w.ok(w.exchange.traceTool(b.sessionId, { key: 'k1', tool: 'bash', input: { command: 'ls' }, ended: null }))
    await once(w)
    expect((await inDatabase(b.sessionId)).tools).toMatchObject([{ id: 1, name: 'bash', status: 'pending', parameters: { command: 'ls' } }])
    await w.ok(w.exchange.traceTool(b.sessionId, { key: 'k1', tool: 'bash', input: { command: 'ls' }, ended: { ok: false, output: 'no such command', startedAt: w.clock.now() } }))
    await once(w)
    const seen = await inDatabase(b.sessionId)
    expect(seen.tools).toMatchObject([{ id: 1, name: 'bash', status: 'error', error: 'no such command', parameters: { command: 'ls' } }])
    rmSync(directory, { recursive: true })
    await once(w)
    expect(await inDatabase(b.sessionId)).toEqual(seen)
  })

  test('switched on later, uses of tools from before are there too', async () => {
    const { w, b } = await correspondence()
    await once(w)
    const { tools } = await inDatabase(b)
    expect(tools).not.toEqual([])
    await once(w, { tracing: false })
    expect(await inDatabase(b)).toMatchObject({ tools: [] })
    await once(w)
    expect((await inDatabase(b)).tools).toEqual(tools)
  })

  test('changes are captured, unless that is switched off', async () => {
    const { w, b } = await correspondence()
    await once(w)
    expect(await inDatabase(b)).toMatchObject({ captured: true })
    rmSync(directory, { recursive: true })
    await once(w, { cdc: false })
    expect(await inDatabase(b)).toMatchObject({ captured: false })
  })

  test('without the package there is no view, and it is said what to install', async () => {
    const { w } = await correspondence()
    expect(await mailView({ storage: 'agentfs', directory, cdc: true, tracing: true, store: w.store, mail: w.exchange.mail, clock: systemClock, warn: (text) => warnings.push(text), sdk: 'agentfs-sdk-that-is-not-there' })).toBeNull()
    expect(warnings).toEqual([expect.stringContaining('npm install agentfs-sdk')])
  })
})

test('with sqlite there is the log alone', async () => {
  const { w } = await correspondence()
  expect(await mailView({ storage: 'sqlite', directory, cdc: true, tracing: true, store: w.store, mail: w.exchange.mail, clock: systemClock, warn: () => undefined })).toBeNull()
  expect(existsSync(directory)).toBe(false)
})

test('a place that cannot be written is warned about once, the others go on, and it is made anew at the next start', async () => {
  const { w, a, b } = await correspondence()
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'blocked'), '')
  const view = await viewOf(w, { storage: 'files', mail: { message: async (who, id) => { if (id === 'two' || id === 'msg_two') throw new Error('planted'); return w.exchange.mail.message(who, id) } } })
  await view.settled()
  await w.ok(w.exchange.mail.send(user, { session: b, message: 'more', id: 'more' }, null, null))
  await view.settled()
  await view.close()
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`${b}.*planted`)) as string])
  expect(inFolder(a)).toEqual(await records(w, 'back'))
  await once(w, { storage: 'files' })
  expect(inFolder(b)).toEqual(await records(w, 'one', 'two', 'three', 'more'))
})
