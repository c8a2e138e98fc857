/**
 * A world for mail: sessions of agents that do what the test says next, and the three tools as those agents
 * use them.
 */
import { tmpdir } from 'node:os'
import type { SessionId } from '../../src/model/id.ts'
import type { Json } from '../../src/model/json.ts'
import { world, type AgentSpec, type World, type WorldOptions } from './world.ts'
import type { SendAsk } from './askers.ts'
import type { Who } from '../../src/runtime/desk/asker.ts'

export const user: Who = { kind: 'user' }
const place = { cwd: tmpdir(), model: null, title: '', parent: null, id: null, trace: null }
export const letter = (to: SessionId, text: string, more: Partial<SendAsk> = {}): SendAsk => ({
  to,
  text,
  source: 'user',
  from: null,
  applet: null,
  delivery: 'auto',
  inReplyTo: null,
  id: null,
  trace: null,
  ...more,
})
export const as = (session: SessionId): Who => ({ kind: 'session', session })

export type Value = Record<string, Json>
type Turn = Parameters<NonNullable<AgentSpec['script']>>[0]

export type MailWorld = World & {
  open(agent: string, more?: { parent?: SessionId; id?: string }): Promise<SessionId>
  /** Lets a session do something in a turn of its own, and gives what that returned. */
  doIn<T>(session: SessionId, act: (turn: Turn) => Promise<T>): Promise<T>
  /** One use of one tool by a session, in a turn of its own. */
  use(session: SessionId, tool: string, input: Json): Promise<Value>
  /** What the sessions were asked, in order. */
  asked: { session: string; prompt: string }[]
  rested(session: SessionId): Promise<void>
  /** Refusals are errors here. */
  ok<T extends object>(answer: Promise<T>): Promise<Exclude<T, { code: string }>>
}

/** Each agent answers `did <task>`, unless a test gave it something to do. */
export async function mailWorld(options: Partial<WorldOptions> = {}): Promise<MailWorld> {
  const acts = new Map<string, (turn: Turn) => Promise<string>>()
  const asked: MailWorld['asked'] = []
  let serial = 0
  const script = async (turn: Turn): Promise<string> => {
    asked.push({
      session: /session is (ses_\S+?)[.:\s]/.exec(JSON.stringify(turn.tools))?.[1] ?? '',
      prompt: turn.prompt,
    })
    const act = acts.get(turn.task)
    return act === undefined ? `did ${turn.task}` : act(turn)
  }
  const w: World = await world({ agents: { coder: { script }, planner: { script } }, ...options })
  const ok: MailWorld['ok'] = async (answer) => {
    const value = await answer
    if ('code' in value) throw new Error(`refused: ${JSON.stringify(value)}`)
    return value as never
  }
  const rested: MailWorld['rested'] = async (session) =>
    void (await w.until(w.exchange.waitForSession(user, session, 3_600_000, new AbortController().signal)))
  const doIn: MailWorld['doIn'] = async (session, act) => {
    const task = `act ${(serial += 1)}`
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    acts.set(task, async (turn) => {
      try {
        resolve(await act(turn))
      } catch (error) {
        reject(error)
        throw error
      }
      return 'done'
    })
    await ok(w.exchange.send(user, letter(session, task)))
    const result = await w.until(promise)
    await rested(session)
    return result as never
  }
  return {
    ...w,
    ok,
    asked,
    rested,
    doIn,
    async open(agent, more = {}) {
      const { sessionId } = await ok(
        w.exchange.createSession(user, {
          ...place,
          agent,
          initialMessage: null,
          parent: more.parent ?? null,
          id: more.id ?? null,
        }),
      )
      return sessionId
    },
    use: (session, tool, input) =>
      doIn(session, async (turn) => (await turn.tool(tool, input)).value as Value),
  }
}
