/**
 * kill -9 on the first byte of an answer, at every door: the retry has the outcome that the first try was
 * about to tell (R2).
 * A dozen rounds here; `ANSWER_KILL_ROUNDS=200 npx vitest run test/kill/answers.test.ts` plays more.
 */
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import type { EventOf } from '../../src/model/event.ts'
import {
  waitMsMax,
  type Server,
  type Fields,
  startServer,
  gone,
  logOf,
  directoryOf,
  roundsEach,
} from '../kits/kill-server.ts'

/** One use of a door: the request, when to kill, and what of the answer must be the same for the retry. */
type Door = {
  name: string
  path: string
  body: (task: string) => Fields
  headers?: Record<string, string>
  killAt: RegExp
  read: (text: string) => Fields
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

test.each(doors)(
  'R2: kill -9 on the first byte at $name: the retry with the same key has the same answer',
  { timeout: 20_000 + roundsEach * 30_000 },
  async (door) => {
    const directory = directoryOf()
    let server = await startServer(directory)
    let whole = 0
    for (let n = 0; n < roundsEach; n += 1) {
      const played = await playRound(server, directory, door, n)
      server = played.server
      whole += played.whole ? 1 : 0
    }
    console.info(`${door.name}: ${roundsEach} rounds, ${whole} answers arrived whole before the kill`)
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
    expect(tasks.toSorted()).toEqual(Array.from({ length: roundsEach }, (_, n) => `letter ${n}`).toSorted())
  },
)
