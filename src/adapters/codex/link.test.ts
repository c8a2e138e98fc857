import { chmodSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocketServer, type WebSocket } from 'ws'
import { scratch, started } from '../../../test/kits/client.ts'
import type { Json } from '../../model/json.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { codexLink } from './link.ts'
import { findCodexSocket } from './rpc.ts'

const uid = process.getuid?.() ?? 0
const thread = 'ses_client-codex-mcp-client_t1'

type Asked = { method: string; params: { [name: string]: Json } }

/** An app-server of Codex with one thread, as its daemon has it. */
async function startDaemon(cwd: string) {
  const codexHome = scratch()
  const folder = join(codexHome, 'app-server-control')
  mkdirSync(folder, { mode: 0o700 })
  const asked: Asked[] = []
  const state = { loaded: ['t1'], works: false, refuses: false }
  let joined: WebSocket | null = null
  const answer = ({ method }: Asked): Json => {
    if (method === 'thread/loaded/list') return { data: state.loaded }
    if (method !== 'thread/resume') return {}
    return { thread: { cwd, preview: 'Fix the parser', status: { type: state.works ? 'active' : 'idle' } } }
  }
  const http = createServer()
  new WebSocketServer({ server: http }).on('connection', (ws) => {
    joined = ws
    ws.on('message', (data: Buffer) => {
      const { id, ...one } = JSON.parse(data.toString()) as Asked & { id?: number }
      asked.push(one)
      if (id === undefined) return
      const no = state.refuses && one.method.startsWith('turn/') ? { error: { message: 'not now' } } : null
      ws.send(JSON.stringify({ id, ...(no ?? { result: answer(one) }) }))
    })
  })
  await new Promise<void>((resolve) => http.listen(join(folder, 'app-server-control.sock'), resolve))
  onTestFinished(() => void http.close())
  const notify = (method: string, params: object): void =>
    joined?.send(JSON.stringify({ method, params: { threadId: 't1', ...params } }))
  const list = (method: string): Asked[] => asked.filter((one) => one.method === method)
  return { codexHome, folder, state, notify, list }
}

async function open() {
  const world = await started({})
  const { served, client, cwd } = world
  const daemon = await startDaemon(cwd)
  const reported: unknown[] = []
  const link = codexLink({
    desks: served.line.desks,
    clock: systemClock,
    codexHome: daemon.codexHome,
    uid,
    version: '0',
    report: (fault) => reported.push(fault),
  })
  onTestFinished(() => link.close())
  const see = async () => client.sessions.get(thread).catch(() => null)
  await expect.poll(async () => (await see())?.wakeable).toBe(true)
  const peer = (await client.sessions.create({ cwd, agent: 'external' })).sessionId
  const desk = served.line.desks.as({ who: { kind: 'session', session: peer as `ses_${string}` } })
  const reply = async (text: string): Promise<void> => {
    const { id } = await client.mail.send({ from: thread, session: peer, message: 'a question' })
    await desk.tools.use('buffer', { accept: id }, { session: peer })
    await client.mail.send({ from: peer, message: text, reply: [id] })
  }
  return { ...world, daemon, see, reply, reported }
}

test('a thread that is loaded is a session with its directory and title, and goes when it is closed', async () => {
  const { daemon, see, cwd } = await open()
  expect(await see()).toMatchObject({ cwd, presence: 'idle', title: 'Fix the parser' })
  daemon.state.loaded = []
  await expect.poll(async () => (await see())?.presence).toBe('closed')
})

test('a reply starts a turn where it rests, once, and what Codex does not take ends nothing', async () => {
  const { daemon, reply, reported } = await open()
  daemon.state.refuses = true
  await reply('the first answer')
  await expect.poll(() => reported.length).toBe(1)
  daemon.state.refuses = false
  await reply('the second answer')
  await expect.poll(() => daemon.list('turn/start').length).toBe(2)
  const [first, second] = daemon.list('turn/start').map(({ params }) => JSON.stringify(params))
  expect(first).toContain('the first answer')
  expect(second).toContain('the second answer')
  expect(second).not.toContain('the first answer')
})

test('a reply is said into the turn where it works', async () => {
  const { daemon, see, reply } = await open()
  daemon.notify('turn/started', { turn: { id: 'turn-7' } })
  await expect.poll(async () => (await see())?.presence).toBe('working')
  await reply('the answer')
  await expect.poll(() => daemon.list('turn/steer').length).toBe(1)
  expect(daemon.list('turn/steer')[0]?.params).toMatchObject({ threadId: 't1', expectedTurnId: 'turn-7' })
  expect(daemon.list('turn/start')).toEqual([])
})

test('a socket counts only where the user owns it, and nobody else may put another there', async () => {
  const { codexHome, folder } = await startDaemon('/')
  expect(await findCodexSocket(codexHome, uid)).toBe(join(folder, 'app-server-control.sock'))
  expect(await findCodexSocket(codexHome, uid + 1)).toBeNull()
  chmodSync(folder, 0o777)
  expect(await findCodexSocket(codexHome, uid)).toBeNull()
  expect(await findCodexSocket(scratch(), uid)).toBeNull()
})
