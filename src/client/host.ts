/**
 * A program of one's own as the runner of sessions: it registers them, is given their turns, speaks while it
 * works, and answers each once.
 * The connection comes back by itself. A turn that is sent again after a break is the same turn: it is not
 * begun a second time, and its answer is sent again.
 */
import { findExcess, inletLimits } from '../model/bounded-json.ts'
import { contained } from '../model/contained.ts'
import type { Json } from '../model/json.ts'
import { hostFrameBytesMax, hostSessionsPerHelloMax } from '../model/limits.ts'
import { explain } from '../model/refusal.ts'
import type { TielineClient } from './client.ts'
import {
  answerFrame,
  deltaFrames,
  failureFrame,
  fits,
  sessionFrame,
  unopenedFrame,
  type RunAnswer,
} from './host-frames.ts'
import { parseJsonAnswer, buildUrl, type RequestSettings } from './request.ts'
import { TielineError } from './tieline-error.ts'

export type HostSession = {
  /** The program's own id for it. */
  id: string
  title?: string
  cwd: string
  parent?: string | null
  /** Ours, for one that was made at the server. */ as?: string | null
  /** Another program that has it already keeps it, as long as it is there. */
  spare?: boolean
}

/** A session that was made at the server, for the program to make its own of. */
export type HostOpening = {
  sessionId: string
  cwd: string
  title: string
  /** The program's own id of the one to go on from, and how many messages back. */
  fork: {
    id: string
    back: number
  } | null
}

export type HostTurn = {
  turn: string
  /** The program's own id of the session, and ours. */
  id: string
  sessionId: string
  /** As a model should read it: a peer's text is framed as one. */
  prompt: string
  task: string
  from: string | null
  source: string
  messageId: string | null
  /** The message that this one answers. */
  inReplyTo: string | null
  system: string
  deadline: number
  tools: readonly { name: string; description: string; input: Json }[]
  /** Aborts when the turn was cancelled. */
  signal: AbortSignal
  say(text: string): void
  /** Uses a tool with the authority of this turn. */
  tool(name: string, input: Json): Promise<{ ok: boolean; value: Json }>
}

export type HostAsk = {
  agent: string
  description?: string
  tools?: readonly string[]
  sessions?: readonly HostSession[]
  /** Makes sessions that were asked for at the server, for its agent and this directory. */
  opens?: { cwd: string; open(asked: HostOpening): Promise<HostSession> }
  /** What it returns is the answer; what it throws makes the turn fail. */
  run(turn: HostTurn): Promise<RunAnswer>
  onConnection?: (state: { open: boolean; why: string }) => void
  /** What the server says no to. */
  onError?: (error: { code: string; message: string }) => void
}

export type HostConnection = {
  /** Resolves with our id for it; rejects where the server refuses it, or the connection is closed before. */
  add(session: HostSession): Promise<string>
  remove(id: string): void
  /**
   * Ours of a session that the server has taken, and a client that acts as it: what it does by itself,
   * outside of the turns that it is given.
   */
  taken(id: string): { sessionId: string; client: TielineClient } | null
  /** Resolves when the server has taken the first hello. */
  readonly ready: Promise<void>
  close(): void
}

type Settings = RequestSettings & {
  openSocket: (url: string) => WebSocket
  as: (token: string) => TielineClient
}
type Registered = { id: string; sessionId: string; token: string }
type Given = Omit<HostTurn, 'signal' | 'say' | 'tool'>
type Frame =
  | { type: 'welcome'; sessions: Registered[] }
  | ({ type: 'registered' } & Registered)
  | ({ type: 'open' } & HostOpening)
  | ({ type: 'turn' } & Given)
  | { type: 'cancel'; turn: string; cause: string }
  | { type: 'tool.result'; id: string; ok: boolean; value: Json }
  | {
      type: 'error'
      error: { code: string; message: string }
      about?: { type: string; session?: string; turn?: string; id?: string }
    }
type Running = {
  abort: AbortController
  answer: object | null
  /** The server did not take its answer, and was told of that instead. */
  refused: boolean
}
type Waiter = { resolve: (sessionId: string) => void; reject: (error: Error) => void }

const firstPauseMs = 100
const pauseMsMax = 5000
const answersKept = 100

export function hostConnection(settings: Settings, ask: HostAsk): HostConnection {
  return new Connection(settings, ask).start()
}

class Connection implements HostConnection {
  readonly #settings: Settings
  readonly #ask: HostAsk
  readonly #sessions = new Map<string, HostSession>()
  readonly #turns = new Map<string, Running>()
  readonly #taken = new Map<string, { sessionId: string; client: TielineClient }>()
  /** Sessions that the server has not said yes or no to. */
  readonly #waiting = new Map<string, Waiter[]>()
  readonly #tools = new Map<string, (result: { ok: boolean; value: Json }) => void>()
  readonly #closed = new AbortController()
  #socket: WebSocket | null = null
  #open = false
  #toolId = 0
  #welcomed = (): void => undefined
  readonly ready = new Promise<void>((resolve) => (this.#welcomed = resolve))

  constructor(settings: Settings, ask: HostAsk) {
    this.#settings = settings
    this.#ask = ask
    for (const session of ask.sessions ?? []) this.#sessions.set(session.id, session)
  }

  start(): this {
    void this.#live()
    return this
  }

  add(session: HostSession): Promise<string> {
    if (this.#closed.signal.aborted) return Promise.reject(new Error('the connection was closed'))
    this.#sessions.set(session.id, session)
    return new Promise((resolve, reject) => {
      this.#waiting.set(session.id, [...(this.#waiting.get(session.id) ?? []), { resolve, reject }])
      this.#send({ type: 'session', session: sessionFrame(session) })
    })
  }

  remove(id: string): void {
    this.#sessions.delete(id)
    this.#taken.delete(id)
    this.#send({ type: 'gone', session: id })
  }

  taken(id: string): { sessionId: string; client: TielineClient } | null {
    return this.#taken.get(id) ?? null
  }

  close(): void {
    this.#closed.abort()
    this.#socket?.close(1000)
    for (const { abort } of this.#turns.values()) abort.abort(new Error('the connection was closed'))
    for (const id of this.#waiting.keys())
      this.#settle(id, ({ reject }) => reject(new Error('the connection was closed')))
  }

  async #live(): Promise<void> {
    for (
      let pauseMs = firstPauseMs;
      !this.#closed.signal.aborted;
      pauseMs = Math.min(pauseMs * 2, pauseMsMax)
    ) {
      const why = await this.#connect(() => (pauseMs = firstPauseMs))
      if (this.#closed.signal.aborted) return
      this.#ask.onConnection?.({ open: false, why })
      await this.#settings.surroundings.sleep(pauseMs, this.#closed.signal)
    }
  }

  /** Resolves with why it ended. */
  #connect(opened: () => void): Promise<string> {
    return new Promise((resolve) => {
      const url = buildUrl(this.#settings.url, '/ws/host', { token: this.#settings.token }).replace(
        /^http/,
        'ws',
      )
      const socket = this.#settings.openSocket(url)
      this.#socket = socket
      // A frame that cannot be read, and what a callback of the program throws, end this connection and not
      // the program: it is made anew.
      const broke = (fault: unknown): void => {
        socket.close()
        this.#ask.onError?.({
          code: 'connection_broke',
          message: fault instanceof Error ? fault.message : String(fault),
        })
      }
      socket.addEventListener(
        'open',
        contained(broke, () => {
          opened()
          this.#open = true
          this.#hello()
          this.#ask.onConnection?.({ open: true, why: '' })
        }),
      )
      socket.addEventListener(
        'message',
        contained(broke, (event: MessageEvent) => this.#take(parseJsonAnswer(String(event.data)) as Frame)),
      )
      socket.addEventListener('error', () => undefined)
      socket.addEventListener(
        'close',
        contained(broke, (event: CloseEvent) => {
          // Nobody answers them any more; the server has ended what they began, or will not begin it.
          for (const settle of this.#tools.values())
            settle({
              ok: false,
              value: { error: { code: 'call_ended', message: 'the connection to the server broke' } },
            })
          this.#tools.clear()
          this.#open = false
          resolve(event.reason === '' ? `closed (${event.code})` : event.reason)
        }),
      )
    })
  }

  /** Those that one hello has no room for follow it. */
  #hello(): void {
    const { agent, description, tools, opens } = this.#ask
    const sessions = [...this.#sessions.values()].map(sessionFrame)
    this.#send({
      type: 'hello',
      agent,
      ...(description === undefined ? {} : { description }),
      ...(tools === undefined ? {} : { tools }),
      ...(opens === undefined ? {} : { opens: opens.cwd }),
      sessions: sessions.slice(0, hostSessionsPerHelloMax),
    })
    for (const session of sessions.slice(hostSessionsPerHelloMax)) this.#send({ type: 'session', session })
  }

  #take(frame: Frame): void {
    switch (frame.type) {
      case 'welcome': {
        for (const registered of frame.sessions) this.#registered(registered)
        return this.#welcomed()
      }
      case 'registered':
        return this.#registered(frame)
      case 'open':
        return void this.#make(frame)
      case 'turn':
        return this.#begin(frame)
      case 'cancel':
        return this.#turns.get(frame.turn)?.abort.abort(new Error(frame.cause))
      case 'tool.result': {
        this.#tools.get(frame.id)?.({ ok: frame.ok, value: frame.value })
        return void this.#tools.delete(frame.id)
      }
      case 'error':
        return this.#refused(frame)
    }
  }

  /** Nobody must wait for what the server has refused. */
  #refused({ error, about }: Frame & { type: 'error' }): void {
    this.#ask.onError?.(error)
    if (about?.type === 'session' && about.session !== undefined) {
      if (!this.#taken.has(about.session)) this.#sessions.delete(about.session)
      this.#settle(about.session, ({ reject }) => reject(new TielineError(error, 400)))
    }
    if (about?.type === 'tool' && about.id !== undefined)
      this.#take({
        type: 'tool.result',
        id: about.id,
        ok: false,
        value: { error: { code: error.code, message: error.message } },
      })
    const running =
      about?.type === 'answer' && about.turn !== undefined ? this.#turns.get(about.turn) : undefined
    if (running === undefined || about?.turn === undefined || running.answer === null || running.refused)
      return
    running.refused = true
    running.answer = failureFrame(about.turn, `the server did not take the answer: ${error.message}`)
    this.#send(running.answer)
  }

  #settle(id: string, how: (waiter: Waiter) => void): void {
    const waiting = this.#waiting.get(id) ?? []
    this.#waiting.delete(id)
    for (const waiter of waiting) how(waiter)
  }

  async #make({ type: _type, ...asked }: HostOpening & { type: 'open' }): Promise<void> {
    try {
      const made = await this.#ask.opens?.open(asked)
      if (made !== undefined) await this.add({ ...made, as: asked.sessionId })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.#ask.onError?.({
        code: 'not_opened',
        message: `${asked.sessionId} could not be made here: ${why}`,
      })
      this.#send(unopenedFrame(asked.sessionId, why))
    }
  }

  #registered({ id, sessionId, token }: Registered): void {
    this.#taken.set(id, { sessionId, client: this.#settings.as(token) })
    this.#settle(id, ({ resolve }) => resolve(sessionId))
  }

  #begin({ type: _type, ...given }: Given & { type: 'turn' }): void {
    const known = this.#turns.get(given.turn)
    if (known !== undefined) return void (known.answer !== null && this.#send(known.answer))
    const running: Running = { abort: new AbortController(), answer: null, refused: false }
    this.#turns.set(given.turn, running)
    const turn: HostTurn = {
      ...given,
      signal: running.abort.signal,
      say: (text) => deltaFrames(given.turn, text).forEach((frame) => this.#send(frame)),
      tool: (name, input) => this.#tool(given.turn, name, input),
    }
    void this.#run(turn, running)
  }

  async #run(turn: HostTurn, running: Running): Promise<void> {
    try {
      running.answer = answerFrame(turn.turn, await this.#ask.run(turn))
    } catch (error) {
      running.answer = failureFrame(turn.turn, error)
    }
    this.#send(running.answer)
    // The oldest answers are forgotten: nobody asks for them again after so many others.
    if (this.#turns.size > answersKept)
      for (const [id, { answer }] of this.#turns)
        if (answer !== null && this.#turns.size > answersKept) this.#turns.delete(id)
  }

  #tool(turn: string, name: string, input: Json): Promise<{ ok: boolean; value: Json }> {
    const id = `${turn}-${(this.#toolId += 1)}`
    const frame = { type: 'tool', turn, id, name, input }
    if (!this.#open)
      return Promise.resolve({
        ok: false,
        value: { error: { code: 'call_ended', message: 'there is no connection to the server' } },
      })
    const excess = findExcess(JSON.stringify(frame), 'frame', inletLimits)
    if (excess !== null)
      return Promise.resolve({ ok: false, value: { error: { code: excess.code, message: explain(excess) } } })
    if (!fits(frame))
      return Promise.resolve({
        ok: false,
        value: {
          error: {
            code: 'too_large',
            message: `the input of ${name} is larger than a frame of ${hostFrameBytesMax} bytes; put it into a file and pass the path`,
          },
        },
      })
    return new Promise((resolve) => {
      this.#tools.set(id, resolve)
      this.#send(frame)
    })
  }

  /**
   * While there is no connection nothing is sent: the next hello and the answers that are kept make up for
   * it.
   */
  #send(frame: object): void {
    if (this.#open) this.#socket?.send(JSON.stringify(frame))
  }
}
