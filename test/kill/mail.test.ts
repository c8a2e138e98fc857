/**
 * A hundred sessions write ten thousand messages to each other over HTTP while their server is killed again
 * and again.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '../../src/model/event.ts'
import type { MailPage } from '../../src/runtime/kernel/mail-port.ts'
import { viewsEqual } from '../../src/store/rebuild.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'

const worker = fileURLToPath(new URL('./mail-kill-worker.ts', import.meta.url))
const sessionsCount = 100
const agentsAmong = 20
const messages = 10_000
const kills = 6
const atOnce = 32

type Answer = {
  status: number
  body: Record<string, never> & {
    id?: string
    sessionId?: string
    message?: { id: string } | null
    accepted?: boolean
    error?: { code: string }
  }
}

/**
 * A server that comes back when it was killed. Whoever asks waits for it, and asks again with the same key.
 */
class Server {
  readonly #directory: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  #url: Promise<string>
  #child: ChildProcess | null = null
  kills = 0

  constructor(directory: string) {
    this.#directory = directory
    this.#url = this.#start()
  }

  #start(): Promise<string> {
    const child = spawn(
      process.execPath,
      [worker, join(this.#directory, 'data'), join(this.#directory, 'tieline.json')],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    this.#child = child
    return new Promise((resolve) => {
      let text = ''
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (text.includes('\n')) resolve(text.trim())
      })
    })
  }

  async kill(): Promise<void> {
    const child = this.#child
    await this.#url
    this.kills += 1
    this.#url = (async () => {
      const gone = once(child as ChildProcess, 'close')
      child?.kill('SIGKILL')
      await gone
      return this.#start()
    })()
    await this.#url
  }

  async end(): Promise<void> {
    await this.#url
    const gone = once(this.#child as ChildProcess, 'close')
    this.#child?.kill('SIGKILL')
    await gone
    this.#agent.destroy()
  }

  async post(path: string, body: object, key: string): Promise<Answer> {
    for (;;) {
      const url = await this.#url
      const answer = await this.#once(url + path, JSON.stringify(body), key)
      if (answer !== null && answer.status < 500) return answer
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  #once(url: string, body: string, key: string): Promise<Answer | null> {
    return new Promise((resolve) => {
      const asked = request(
        url,
        {
          method: 'POST',
          agent: this.#agent,
          headers: {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            'idempotency-key': key,
          },
        },
        (response) => {
          let text = ''
          response.on('data', (chunk: Buffer) => (text += chunk.toString()))
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Answer['body'] }),
          )
          response.on('error', () => resolve(null))
        },
      )
      asked.on('error', () => resolve(null))
      asked.end(body)
    })
  }
}

/** So many at once, until all are done. */
async function crowd(count: number, one: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) await one(next++)
    }),
  )
}

async function logOf(directory: string): Promise<Event[]> {
  const store = sqliteStore({ directory: join(directory, 'data'), now: Date.now })
  const events: Event[] = []
  for (let after = 0; ;) {
    const page = await store.read(after, {}, 10_000)
    events.push(...page.events.map(({ event }) => event))
    if (page.events.length === 0) break
    after = page.next
  }
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  await store.close()
  return events
}

test(
  'M1, M2, M5: kill -9 at any moment of 10,000 messages: each is accepted once or still waits',
  { timeout: 180_000 },
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tieline-mail-kill-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    writeFileSync(join(directory, 'tieline.json'), '{}')
    const server = new Server(directory)
    const sessions: string[] = []
    await crowd(sessionsCount, async (n) => {
      const { body } = await server.post(
        '/api/sessions',
        { cwd: directory, agent: n < agentsAmong ? 'echo' : 'external' },
        `session ${n}`,
      )
      sessions[n] = body.sessionId as string
    })
    const sent = new Map<string, string>()
    const accepts = new Map<string, string>()
    let over = false
    const killing = (async () => {
      for (let kill = 0; kill < kills && !over; kill += 1) {
        await new Promise((resolve) => setTimeout(resolve, 300 + ((kill * 7919) % 700)))
        await server.kill()
      }
    })()
    await crowd(messages, async (n) => {
      const from = sessions[agentsAmong + ((n * 17) % (sessionsCount - agentsAmong))] as string
      const [to, other] = [
        sessions[(n * 31) % sessionsCount] as string,
        sessions[(n * 31 + 1) % sessionsCount] as string,
      ]
      const receiver = to === from ? other : to
      const { status, body } = await server.post(
        '/api/messages',
        { from, session: receiver, message: `message ${n}` },
        `message ${n}`,
      )
      if (status !== 202) throw new Error(JSON.stringify(body))
      sent.set(body.id as string, receiver)
      // One is taken for two that are written, now and then by two at once.
      if (n % 2 === 1) return
      const inbox = sessions[(n * 13) % sessionsCount] as string
      const [one] = await Promise.all(
        [0, ...(n % 10 === 0 ? [1] : [])].map(async (who) =>
          server
            .post(`/api/sessions/${inbox}/accept`, { which: 'oldest' }, `accept ${n} ${who}`)
            .then((answer) => {
              if (answer.status === 200 && answer.body.accepted === true)
                accepts.set(`${n} ${who}`, answer.body.message?.id as string)
              return answer
            }),
        ),
      )
      if (one !== undefined && one.status !== 200 && one.body.error?.code !== 'queue_full')
        throw new Error(JSON.stringify(one.body))
    })
    over = true
    await killing
    await server.end()

    const events = await logOf(directory)
    const of = <T extends Event['type']>(type: T) =>
      events.filter((event): event is Extract<Event, { type: T }> => event.type === type)
    const recorded = new Map(
      of('message.sent')
        .filter((event) => event.turn === null)
        .map((event) => [event.message, event.session]),
    )
    // What was acknowledged is there, once, and for the session it was for.
    expect(of('message.sent').length).toBe(recorded.size)
    expect([...sent].filter(([id, to]) => recorded.get(id) !== to)).toEqual([])
    expect([sent.size, recorded.size]).toEqual([messages, messages])
    const accepted = of('message.accepted').map((event) => event.message)
    expect(new Set(accepted).size).toBe(accepted.length)
    expect(
      of('message.delivered')
        .map((event) => event.message)
        .toSorted(),
    ).toEqual(accepted.toSorted())
    // Two accepts never had the same message, and each that was answered with one is recorded.
    expect(new Set(accepts.values()).size).toBe(accepts.size)
    expect([...accepts.values()].filter((id) => !accepted.includes(id))).toEqual([])
    const store = sqliteStore({ directory: join(directory, 'data'), now: Date.now })
    const waiting: string[] = []
    for (const id of sessions)
      for (let after: number | null = 0; after !== null;) {
        const page: MailPage = await store.lists.mail.inbox(id as `ses_${string}`, {
          replies: null,
          newest: false,
          limit: 10_000,
          after,
        })
        waiting.push(...page.messages.map((message) => message.id))
        after = page.next
      }
    await store.close()
    expect([...waiting, ...accepted].toSorted()).toEqual([...recorded.keys()].toSorted())
    expect(server.kills).toBeGreaterThan(2)
    expect(of('message.delivered').filter((event) => event.opens).length).toBeGreaterThan(100)
    console.log(
      `${sent.size} messages, ${accepted.length} accepted, ${waiting.length} waiting, ${server.kills} kills`,
    )
  },
)
