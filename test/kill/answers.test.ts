/**
 * kill -9 on the first byte of an answer, at every door: the retry has the outcome that the first try was
 * about to tell (R2).
 * A dozen rounds here; `ANSWER_KILL_ROUNDS=200 npx vitest run test/kill/answers.test.ts` plays more.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import type { EventOf, StoredEvent } from '../../src/model/event.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'

const program = fileURLToPath(new URL('./http-kill-server.ts', import.meta.url))
const rounds = Number(process.env['ANSWER_KILL_ROUNDS'] ?? 12)
const waitMsMax = 30_000

type Server = { child: ChildProcess; url: string }
type Fields = Record<string, unknown>
/** One use of a door: the request, when to kill, and what of the answer must be the same for the retry. */
type Door = {
  name: string
  path: string
  body: (task: string) => Fields
  headers?: Record<string, string>
  killAt: RegExp
  read: (text: string) => Fields
}

async function startServer(directory: string): Promise<Server> {
  const child = spawn(process.execPath, [program, join(directory, 'data'), directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  for await (const chunk of child.stdout) {
    text += String(chunk)
    if (text.includes('\n')) break
  }
  return { child, url: text.trim() }
}

const gone = async ({ child }: Server): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

const rpc = (text: string): Fields => {
  const line = text.split('\n').find((one) => one.includes('"result"')) ?? '{}'
  const { result } = JSON.parse(line.replace(/^data: /, '')) as { result: { structuredContent: Fields } }
  return result.structuredContent
}
const call = (task: string): Fields => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'sub_agent', arguments: { agent_name: 'clerk', task } },
})
const mcp = {
  path: '/mcp',
  headers: { accept: 'application/json, text/event-stream' },
  body: call,
  read: rpc,
}

const doors: readonly Door[] = [
  {
    name: 'HTTP calls',
    path: '/api/calls',
    body: (task) => ({ agent: 'clerk', task }),
    killAt: /./,
    read: (text) => JSON.parse(text) as Fields,
  },
  {
    name: 'HTTP tools',
    path: '/api/tools/call_agent',
    body: (task) => ({ input: { agent_id: 'clerk', message: task } }),
    killAt: /./,
    read: (text) => (JSON.parse(text) as { value: Fields }).value,
  },
  {
    name: 'Letta messages',
    path: '/v1/agents/clerk/messages',
    body: (task) => ({ messages: [{ role: 'user', content: task }] }),
    killAt: /./,
    read: (text) => JSON.parse(text) as Fields,
  },
  { name: 'MCP, its first byte', ...mcp, killAt: /./ },
  { name: 'MCP, the first byte of its result', ...mcp, killAt: /data: \{"/ },
]

/**
 * What came before the end of the process; the kill is sent from the handler of the byte that it waits for.
 */
function askAndKill({ child, url }: Server, door: Door, task: string, key: string): Promise<string> {
  const { hostname, port, host } = new URL(url)
  const body = JSON.stringify(door.body(task))
  const headers = {
    host,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'idempotency-key': key,
    ...door.headers,
  }
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), hostname, () => {
      const head = Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')
      socket.write(`POST ${door.path} HTTP/1.1\r\n${head}\r\n${body}`)
    })
    socket.setTimeout(waitMsMax, () => reject(new Error(`no answer at ${door.name}`)))
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (door.killAt.test(text)) child.kill('SIGKILL')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(text))
  })
}

/** Null where the answer was cut off with the process. */
function readAnswer(door: Door, text: string): Fields | null {
  const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s)
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
  if (Number.isFinite(length) && Buffer.byteLength(body) < length) return null
  try {
    const answer = door.read(body)
    return Object.keys(answer).length === 0 ? null : answer
  } catch {
    return null
  }
}

async function ask({ url }: Server, door: Door, task: string, key: string): Promise<Fields> {
  const response = await fetch(new URL(door.path, url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key, ...door.headers },
    body: JSON.stringify(door.body(task)),
    signal: AbortSignal.timeout(waitMsMax),
  })
  const text = await response.text()
  expect([response.status, text]).toEqual([200, expect.any(String)])
  return door.read(text)
}

const saidIn = (answer: Fields): string => JSON.stringify(answer)

async function playRound(
  server: Server,
  directory: string,
  door: Door,
  n: number,
): Promise<{ server: Server; whole: boolean }> {
  const [task, key] = [`letter ${n}`, `key ${n}`]
  const text = await askAndKill(server, door, task, key)
  const first = readAnswer(door, text)
  await gone(server)
  const next = await startServer(directory)
  const retry = await ask(next, door, task, key)
  expect(saidIn(retry), `${door.name}, round ${n}`).toContain(`Filed: ${task}`)
  expect(retry, `${door.name}, round ${n}`).toEqual(first ?? retry)
  expect(await ask(next, door, task, key)).toEqual(retry)
  return { server: next, whole: first !== null }
}

async function logOf(directory: string): Promise<StoredEvent[]> {
  const store = sqliteStore({ directory: join(directory, 'data'), now: Date.now })
  const events: StoredEvent[] = []
  for (let after = 0; ;) {
    const page = await store.read(after, {}, 10_000)
    events.push(...page.events)
    if (page.events.length === 0) break
    after = page.next
  }
  await store.close()
  return events
}

function directoryOf(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-answer-kill-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  mkdirSync(join(directory, 'data'))
  return directory
}

const perDoor = Math.ceil(rounds / (doors.length + 1))

test.each(doors)(
  'R2: kill -9 on the first byte at $name: the retry with the same key has the same answer',
  { timeout: 20_000 + perDoor * 30_000 },
  async (door) => {
    const directory = directoryOf()
    let server = await startServer(directory)
    let whole = 0
    for (let n = 0; n < perDoor; n += 1) {
      const played = await playRound(server, directory, door, n)
      server = played.server
      whole += played.whole ? 1 : 0
    }
    console.info(`${door.name}: ${perDoor} rounds, ${whole} answers arrived whole before the kill`)
    server.child.kill('SIGKILL')
    await gone(server)
    const events = (await logOf(directory)).map(({ event }) => event)
    const ended = events.filter((event): event is EventOf<'turn.ended'> => event.type === 'turn.ended')
    expect(ended.filter(({ outcome }) => outcome !== 'completed')).toEqual([])
    const tasks = events.flatMap((event) =>
      event.type === 'call.opened'
        ? [event.task]
        : event.type === 'message.sent' && event.use === undefined
          ? [event.text]
          : [],
    )
    expect(tasks.toSorted()).toEqual(Array.from({ length: perDoor }, (_, n) => `letter ${n}`).toSorted())
  },
)

type Frame = { type: string; [more: string]: unknown }

/**
 * A program that runs one session, says what its turn should, and can be asked for the next frame of a type.
 */
async function hostOf(
  url: string,
  onFrame: (frame: Frame) => void = () => undefined,
): Promise<{ ws: WebSocket; next(type: string): Promise<Frame>; send(frame: Frame): void }> {
  const ws = new WebSocket(`${url.replace(/^http/, 'ws')}/ws/host`)
  onTestFinished(() => ws.terminate())
  ws.on('error', () => undefined)
  await once(ws, 'open')
  const frames: Frame[] = []
  const waiters = new Set<() => void>()
  ws.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Frame
    onFrame(frame)
    frames.push(frame)
    for (const tell of waiters) tell()
  })
  const send = (frame: Frame): void => ws.send(JSON.stringify(frame))
  return {
    ws,
    send,
    next: (type) =>
      new Promise((resolve) => {
        const look = (): void => {
          const at = frames.findIndex((frame) => frame.type === type)
          if (at < 0) return
          waiters.delete(look)
          resolve(frames.splice(at, 1)[0] as Frame)
        }
        waiters.add(look)
        look()
      }),
  }
}

test(
  'R2: kill -9 on the first byte of a result for a program: its turn asks again, with the same result',
  { timeout: 20_000 + perDoor * 30_000 },
  async () => {
    const directory = directoryOf()
    const hello: Frame = {
      type: 'hello',
      agent: 'mine',
      tools: ['sub_agent'],
      sessions: [{ id: 'one', cwd: directory }],
    }
    let server = await startServer(directory)
    for (let n = 0; n < perDoor; n += 1) {
      const { child } = server
      const host = await hostOf(
        server.url,
        (frame) => void (frame.type === 'tool.result' && child.kill('SIGKILL')),
      )
      host.send(hello)
      await host.next('welcome')
      const post = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: `go ${n}`, messageId: `go-${n}` }),
      }
      expect((await fetch(`${server.url}/api/sessions/ses_mine-one/messages`, post)).status).toBe(202)
      const { turn } = await host.next('turn')
      const use: Frame = {
        type: 'tool',
        turn,
        id: `use-${n}`,
        name: 'sub_agent',
        input: { agent_name: 'clerk', task: `letter ${n}` },
      }
      host.send(use)
      const first = await host.next('tool.result')
      await gone(server)
      server = await startServer(directory)
      const again = await hostOf(server.url)
      again.send(hello)
      await again.next('welcome')
      expect((await again.next('turn'))['turn']).toBe(turn)
      again.send(use)
      expect(await again.next('tool.result'), `round ${n}`).toEqual(first)
      again.send({ type: 'answer', turn, output: `done ${n}` })
      const state = (await (
        await fetch(`${server.url}/api/sessions/ses_mine-one/wait?timeoutMs=20000`)
      ).json()) as { lastMessage: { content: string } }
      expect(state.lastMessage.content).toBe(`done ${n}`)
    }
    server.child.kill('SIGKILL')
    await gone(server)
    const opened = (await logOf(directory)).flatMap(({ event }) =>
      event.type === 'call.opened' ? [event.task] : [],
    )
    expect(opened.toSorted()).toEqual(Array.from({ length: perDoor }, (_, n) => `letter ${n}`).toSorted())
  },
)
