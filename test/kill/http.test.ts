import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { Event, EventOf, StoredEvent } from '../../src/model/event.ts'
import { viewsEqual } from '../../src/store/rebuild.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'

const program = fileURLToPath(new URL('./http-kill-server.ts', import.meta.url))
const messages = 400
const lanes = 16
const sessionCount = 24
const kills = 3

type Server = { child: ChildProcess; url: string }
type Answer = { status: number; messageId: string }

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
  expect(text, 'the server says where it listens').toContain('http://')
  return { child, url: text.trim() }
}

async function kill({ child }: Server): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** The sender's own id for every other message, a key for the rest: both must hold. */
const sendOf = (n: number): { headers: Record<string, string>; body: string } => {
  const message = `letter ${n}`
  return n % 2 === 0
    ? { headers: {}, body: JSON.stringify({ message, messageId: `letter-${n}` }) }
    : { headers: { 'idempotency-key': `letter ${n}` }, body: JSON.stringify({ message }) }
}

async function post(url: string, session: string, n: number): Promise<Answer> {
  const { headers, body } = sendOf(n)
  const response = await fetch(`${url}/api/sessions/${session}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  const { messageId } = (await response.json()) as { messageId: string }
  return { status: response.status, messageId }
}

async function openSession(url: string, cwd: string): Promise<string> {
  const response = await fetch(`${url}/api/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ cwd, agent: 'clerk' }),
  })
  return ((await response.json()) as { sessionId: string }).sessionId
}

async function restAll(url: string, sessions: readonly string[]): Promise<void> {
  await Promise.all(
    sessions.map(async (session) => {
      for (let active = true; active;) {
        const response = await fetch(`${url}/api/sessions/${session}/wait?timeoutMs=5000`)
        active = ((await response.json()) as { isActive: boolean }).isActive
      }
    }),
  )
}

async function logOf(directory: string): Promise<Event[]> {
  const store = sqliteStore({ directory: join(directory, 'data'), now: Date.now })
  const events: StoredEvent[] = []
  for (let after = 0; ;) {
    const page = await store.read(after, {}, 10_000)
    events.push(...page.events)
    if (page.events.length === 0) break
    after = page.next
  }
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  await store.close()
  return events.map(({ event }) => event)
}

const sentIn = (events: readonly Event[]): EventOf<'message.sent'>[] =>
  events.filter((event) => event.type === 'message.sent')

function expectEachOnce(
  sent: readonly EventOf<'message.sent'>[],
  sessions: readonly string[],
  acknowledged: ReadonlyMap<number, string>,
): void {
  const expected = Array.from({ length: messages }, (_, n) => ({
    text: `letter ${n}`,
    session: sessions[n % sessionCount],
    message: acknowledged.get(n),
  }))
  const inOrder = sent
    .map(({ text, session, message }) => ({ text, session, message }))
    .toSorted((a, b) => Number(a.text.slice(7)) - Number(b.text.slice(7)))
  expect(inOrder).toEqual(expected)
}

test(
  'R2, R9: kill -9 under posts that are retried: no acknowledged message is missing or doubled',
  { timeout: 120_000 },
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tieline-http-kill-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    mkdirSync(join(directory, 'data'))
    let server = await startServer(directory)
    const sessions = await Promise.all(
      Array.from({ length: sessionCount }, () => openSession(server.url, directory)),
    )
    const acknowledged = new Map<number, string>()
    let [next, retries, killed] = [0, 0, 0]
    let up = Promise.resolve()
    const restart = async (): Promise<void> => {
      await kill(server)
      server = await startServer(directory)
    }

    /** Until it is acknowledged, by whichever process. */
    const deliver = async (n: number): Promise<void> => {
      for (;;) {
        await up
        try {
          const { status, messageId } = await post(server.url, sessions[n % sessionCount] ?? '', n)
          expect(status).toBe(202)
          acknowledged.set(n, messageId)
          return
        } catch (error) {
          // The connection broke with the process; nobody knows whether the message was taken.
          if (!(error instanceof TypeError)) throw error
          retries += 1
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
      }
    }
    const lane = async (): Promise<void> => {
      while (next < messages) {
        await deliver((next += 1) - 1)
        // Not the same distance each time, so that kills fall on different moments of the work.
        if (killed < kills && acknowledged.size >= (killed + 1) * 90 + ((killed * 7919) % 31)) {
          killed += 1
          up = up.then(restart)
        }
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    await up
    await kill(server)
    expect(killed).toBe(kills)
    expect(retries).toBeGreaterThan(0)
    expectEachOnce(sentIn(await logOf(directory)), sessions, acknowledged)

    // A client that never heard of its answer asks again much later: the same answer, and nothing new.
    server = await startServer(directory)
    await Promise.all(
      Array.from({ length: messages }, async (_, n) =>
        expect(await post(server.url, sessions[n % sessionCount] ?? '', n)).toEqual({
          status: 202,
          messageId: acknowledged.get(n),
        }),
      ),
    )
    await restAll(server.url, sessions)
    await kill(server)
    const events = await logOf(directory)
    const sent = sentIn(events)
    expectEachOnce(sent, sessions, acknowledged)
    const ended = events.filter((event) => event.type === 'turn.ended')
    expect(ended.map(({ turn }) => turn).toSorted()).toEqual(sent.map(({ turn }) => turn).toSorted())
    expect(ended.filter(({ outcome }) => outcome !== 'completed')).toEqual([])
  },
)
