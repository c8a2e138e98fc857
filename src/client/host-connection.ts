/**
 * The connection of a program that runs sessions: it registers them, gets their turns, streams text, and
 * answers each turn once. It reconnects by itself. A turn that is sent again after a break is the same turn:
 * it is not started a second time, and its answer is sent again.
 */
import { findExcess, inletLimits } from '../model/bounded-json.ts'
import { contained } from '../model/contained.ts'
import type { Json } from '../model/json.ts'
import { hostFrameBytesMax, hostSessionsPerHelloMax } from '../model/limits.ts'
import { explain } from '../model/refusal.ts'
import type { About, HostOpening, HostTask, Registered, ToHost } from '../wire/host.ts'
import type { UsedTool } from '../wire/tools.ts'
import type { TielineClient } from './client.ts'
import {
  ConnectionClosed,
  type HostAsk,
  type HostConnection,
  type HostSession,
  type HostTurn,
  type TakenSession,
} from './host.ts'
import { answerFrame, deltaFrames, failureFrame, fits, sessionFrame, unopenedFrame } from './host-frames.ts'
import { buildUrl, parseJsonAnswer, type RequestSettings } from './request.ts'
import { describeError, TielineError } from './tieline-error.ts'

type Settings = RequestSettings & {
  openSocket: (url: string) => WebSocket
  as: (token: string) => TielineClient
}
/** `about` was left out by older servers. */
type Frame = Exclude<ToHost, Refused> | Refused
type Refused = Omit<Extract<ToHost, { type: 'error' }>, 'about'> & { about?: About }
type Running = {
  abort: AbortController
  answer: object | null
  /** The server refused the answer, and was sent a failure instead. */
  refused: boolean
}
type Waiter = { resolve: (sessionId: string) => void; reject: (error: Error) => void }

const firstPauseMs = 100
const pauseMsMax = 5000
const answersKept = 100

const failTool = (code: string, message: string): UsedTool => ({
  ok: false,
  value: { error: { code, message } },
})

export function hostConnection(settings: Settings, ask: HostAsk): HostConnection {
  return new Connection(settings, ask).start()
}

class Connection implements HostConnection {
  readonly #settings: Settings
  readonly #ask: HostAsk
  readonly #sessions = new Map<string, HostSession>()
  readonly #turns = new Map<string, Running>()
  readonly #taken = new Map<string, TakenSession>()
  /** Sessions that the server has neither taken nor refused yet. */
  readonly #waiting = new Map<string, Waiter[]>()
  readonly #tools = new Map<string, (result: UsedTool) => void>()
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
    void this.#stayConnected()
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

  taken(id: string): TakenSession | null {
    return this.#taken.get(id) ?? null
  }

  close(): void {
    this.#closed.abort()
    this.#socket?.close(1000)
    const closed = new ConnectionClosed()
    for (const { abort } of this.#turns.values()) abort.abort(closed)
    for (const id of this.#waiting.keys()) this.#settle(id, ({ reject }) => reject(closed))
  }

  async #stayConnected(): Promise<void> {
    const { signal } = this.#closed
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, pauseMsMax)) {
      const why = await this.#connect(() => (pauseMs = firstPauseMs))
      if (signal.aborted) return
      this.#ask.onConnection?.({ open: false, why })
      await this.#settings.surroundings.sleep(pauseMs, signal)
    }
  }

  /** Resolves with the reason when the connection has ended. */
  #connect(onOpen: () => void): Promise<string> {
    const { url, token, openSocket } = this.#settings
    const socket = openSocket(buildUrl(url, '/ws/host', { token }).replace(/^http/, 'ws'))
    this.#socket = socket
    // A frame that cannot be read, or a callback that throws, ends this connection and not the program.
    const fail = (fault: unknown): void => {
      socket.close()
      this.#ask.onError?.({ code: 'connection_broke', message: describeError(fault) })
    }
    const open = contained(fail, () => {
      onOpen()
      this.#open = true
      this.#sayHello()
      this.#ask.onConnection?.({ open: true, why: '' })
    })
    const receive = contained(fail, ({ data }: MessageEvent) =>
      this.#receive(parseJsonAnswer(String(data)) as Frame),
    )
    socket.addEventListener('open', open)
    socket.addEventListener('message', receive)
    socket.addEventListener('error', () => undefined)
    return new Promise((resolve) => {
      const close = contained(fail, ({ reason, code }: CloseEvent) => {
        // Nobody will answer them: the server has ended what they began, or will not begin it.
        for (const settle of this.#tools.values())
          settle(failTool('call_ended', 'the connection to the server broke'))
        this.#tools.clear()
        this.#open = false
        resolve(reason === '' ? `closed (${code})` : reason)
      })
      socket.addEventListener('close', close)
    })
  }

  /** The sessions that do not fit into the hello follow it. */
  #sayHello(): void {
    const { agent, description, tools, opens } = this.#ask
    const sessions = [...this.#sessions.values()].map(sessionFrame)
    // JSON leaves out what is undefined.
    this.#send({
      type: 'hello',
      agent,
      description,
      tools,
      opens: opens?.cwd,
      sessions: sessions.slice(0, hostSessionsPerHelloMax),
    })
    for (const session of sessions.slice(hostSessionsPerHelloMax)) this.#send({ type: 'session', session })
  }

  #receive(frame: Frame): void {
    switch (frame.type) {
      case 'welcome':
        for (const registered of frame.sessions) this.#register(registered)
        return this.#welcomed()
      case 'registered':
        return this.#register(frame)
      case 'open':
        return void this.#openSession(frame)
      case 'turn':
        return this.#begin(frame)
      case 'cancel':
        return this.#turns.get(frame.turn)?.abort.abort(new Error(frame.cause))
      case 'tool.result':
        return this.#settleTool(frame.id, { ok: frame.ok, value: frame.value })
      case 'error':
        return this.#handleRefusal(frame)
    }
  }

  /** Settles what waits for an answer that the server has refused. */
  #handleRefusal({ error, about }: Refused): void {
    this.#ask.onError?.(error)
    if (about?.type === 'session' && about.session !== undefined) {
      if (!this.#taken.has(about.session)) this.#sessions.delete(about.session)
      this.#settle(about.session, ({ reject }) => reject(new TielineError(error, 400)))
    }
    if (about?.type === 'tool' && about.id !== undefined)
      this.#settleTool(about.id, failTool(error.code, error.message))
    if (about?.type !== 'answer' || about.turn === undefined) return
    const running = this.#turns.get(about.turn)
    if (running === undefined || running.answer === null || running.refused) return
    running.refused = true
    running.answer = failureFrame(about.turn, `the server did not take the answer: ${error.message}`)
    this.#send(running.answer)
  }

  #settle(id: string, how: (waiter: Waiter) => void): void {
    const waiting = this.#waiting.get(id) ?? []
    this.#waiting.delete(id)
    for (const waiter of waiting) how(waiter)
  }

  #settleTool(id: string, result: UsedTool): void {
    this.#tools.get(id)?.(result)
    this.#tools.delete(id)
  }

  async #openSession({ type: _type, ...asked }: HostOpening & { type: 'open' }): Promise<void> {
    try {
      const made = await this.#ask.opens?.open(asked)
      if (made !== undefined) await this.add({ ...made, as: asked.sessionId })
    } catch (error) {
      const why = describeError(error)
      const message = `${asked.sessionId} could not be made here: ${why}`
      this.#ask.onError?.({ code: 'not_opened', message })
      this.#send(unopenedFrame(asked.sessionId, why))
    }
  }

  #register({ id, sessionId, token }: Registered): void {
    this.#taken.set(id, { sessionId, client: this.#settings.as(token) })
    this.#settle(id, ({ resolve }) => resolve(sessionId))
  }

  #begin({ type: _type, ...given }: HostTask & { type: 'turn' }): void {
    const known = this.#turns.get(given.turn)
    if (known !== undefined) return void (known.answer !== null && this.#send(known.answer))
    const running: Running = { abort: new AbortController(), answer: null, refused: false }
    this.#turns.set(given.turn, running)
    const turn: HostTurn = {
      ...given,
      signal: running.abort.signal,
      say: (text) => deltaFrames(given.turn, text).forEach((frame) => this.#send(frame)),
      tool: (name, input) => this.#useTool(given.turn, name, input),
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
    // The oldest answers are forgotten: after so many others the server does not ask for them again.
    for (const [id, { answer }] of this.#turns)
      if (answer !== null && this.#turns.size > answersKept) this.#turns.delete(id)
  }

  async #useTool(turn: string, name: string, input: Json): Promise<UsedTool> {
    const id = `${turn}-${(this.#toolId += 1)}`
    const frame = { type: 'tool', turn, id, name, input }
    if (!this.#open) return failTool('call_ended', 'there is no connection to the server')
    const excess = findExcess(JSON.stringify(frame), 'frame', inletLimits)
    if (excess !== null) return failTool(excess.code, explain(excess))
    if (!fits(frame))
      return failTool(
        'too_large',
        `the input of ${name} is larger than a frame of ${hostFrameBytesMax} bytes; ` +
          'put it into a file and pass the path',
      )
    return new Promise((resolve) => {
      this.#tools.set(id, resolve)
      this.#send(frame)
    })
  }

  /** Sends nothing without a connection: the next hello and the answers that are kept make up for it. */
  #send(frame: object): void {
    if (this.#open) this.#socket?.send(JSON.stringify(frame))
  }
}
