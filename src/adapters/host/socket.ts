/** One connected program: reads its frames, registers its sessions, passes on what its turns say. */
import type { WebSocket } from 'ws'
import { inletLimits, parseJson } from '../../model/bounded-json.ts'
import { faultMessage, listen } from '../../model/contained.ts'
import { isRecord } from '../../model/json.ts'
import type { SessionId } from '../../model/id.ts'
import { hostFrameBytesMax } from '../../model/limits.ts'
import { readInput } from '../../model/read-input.ts'
import { type Refusal, badInput, explain, isRefusal } from '../../model/refusal.ts'
import type { Who } from '../../runtime/desk/asker.ts'
import type { Desks } from '../../runtime/desk/desk.ts'
import { storeRefusal } from '../../runtime/kernel/faults.ts'
import type { ToolAnswer } from '../../runtime/kernel/ports.ts'
import { HostFrame, type About, type HostedSession, type Registered, type ToHost } from '../../wire/host.ts'
import type { Host, HostHub } from './hub.ts'

const badFramesMax = 10
const idShownMax = 1000
const policyCode = 1008
/** R11: frames of one program that wait for those before them, its tools at once, and what it has not read. */
const framesWaitingMax = 64
const toolsAtOnceMax = 64
const unreadBytesMax = 32 * 1024 * 1024
const tryLaterCode = 1013
const turnEnded = 'this turn has ended, or is not one of yours'

export type HostSocketDeps = {
  desks: Desks
  hub: HostHub
  /** A token that acts as that session. */
  mint(session: SessionId): string
  report: (fault: unknown) => void
}

/** `onFault` logs what breaks while a frame is taken, and ends the connection. */
export function hostSocket(
  deps: HostSocketDeps,
): (ws: WebSocket, who: Who, onFault: (fault: unknown) => void) => void {
  return (ws, who, onFault) => {
    // A session's token speaks for that session alone, and a program brings many.
    if (who.kind !== 'user')
      return ws.close(policyCode, 'only the user may connect a program that runs turns')
    new Program(ws, deps, onFault).begin()
  }
}

/** Ours follows from the agent and the program's own id, so that it is the same after a restart. */
export const hostedId = (agent: string, own: string): string => `${agent}-${own}`

class Program {
  readonly #ws: WebSocket
  readonly #deps: HostSocketDeps
  readonly #host: Host
  #agent: string | null = null
  #name = ''
  #bad = 0
  /** Frames are taken one after the other, but for tools, which may take long. */
  #last: Promise<void> = Promise.resolve()
  #waiting = 0
  #toolsRunning = 0
  readonly #onFault: (fault: unknown) => void

  constructor(ws: WebSocket, deps: HostSocketDeps, onFault: (fault: unknown) => void) {
    this.#ws = ws
    this.#deps = deps
    this.#onFault = onFault
    this.#host = { sessions: new Map(), send: (frame) => this.#send(frame) }
  }

  begin(): void {
    listen(this.#ws, 'close', this.#deps.report, () => this.#deps.hub.detach(this.#host))
    listen(this.#ws, 'message', this.#onFault, (data: Buffer, isBinary: boolean) =>
      this.#receive(isBinary ? null : data.toString('utf8')),
    )
  }

  /** Where nothing can be recorded, the program comes back after a while, with its sessions. */
  #breakOff(fault: unknown, about: About): void {
    const refusal = storeRefusal(fault)
    if (refusal === null) return this.#onFault(fault)
    this.#say(refusal, about)
    this.#ws.close(tryLaterCode, 'nothing can be recorded now')
  }

  #receive(text: string | null): void {
    const { frame, about } =
      text === null
        ? { frame: badInput('frame', 'binary data', 'JSON text'), about: { type: 'unknown' } }
        : parseFrame(text)
    if (isRefusal(frame)) return this.#refuse(frame, about)
    this.#waiting += 1
    // What it sends meanwhile stays with the kernel, and then with the program.
    if (this.#waiting >= framesWaitingMax) this.#ws.pause()
    this.#last = this.#last
      .then(() => this.#take(frame))
      .catch((fault: unknown) => this.#breakOff(fault, about))
      .finally(() => {
        this.#waiting -= 1
        if (this.#waiting < framesWaitingMax && this.#ws.isPaused) this.#ws.resume()
      })
  }

  async #take(frame: HostFrame): Promise<void> {
    switch (frame.type) {
      case 'hello':
        return this.#hello(frame)
      case 'session':
        return this.#register(frame.session)
      case 'gone':
        return this.#gone(frame.session)
      case 'unopened':
        return this.#deps.hub.cannot(this.#host, frame.session, frame.why)
      case 'delta':
        return this.#turn(frame.turn)?.say(frame.text)
      case 'tool':
        return this.#tool(frame)
      case 'answer':
        return this.#answer(frame)
    }
  }

  #answer({ turn, output, error = null, usage = null }: Extract<HostFrame, { type: 'answer' }>): void {
    this.#turn(turn)?.answer({ output, error, usage })
  }

  #turn(turn: string) {
    const hosted = this.#deps.hub.turn(this.#host, turn)
    // Most likely it has ended meanwhile: what comes late changes nothing.
    if (hosted === null) this.#send({ type: 'cancel', turn, cause: turnEnded })
    return hosted
  }

  async #hello(frame: Extract<HostFrame, { type: 'hello' }>): Promise<void> {
    const { agent, description, sessions, tools, opens } = frame
    // Its sessions say where it works: an agent of that project may be the one that it runs.
    const cwd = sessions[0]?.cwd ?? opens ?? undefined
    const desk = this.#deps.desks.as({ client: { name: agent, cwd } })
    const known = await desk.agents.connect({ name: agent, description, tools })
    if (isRefusal(known)) return this.#refuse(known, { type: 'hello' })
    this.#agent = known.id
    this.#name = agent
    const attached: { session: HostedSession; opened: { id: SessionId } }[] = []
    for (const session of sessions) {
      const opened = await this.#open(session)
      if (isRefusal(opened)) this.#say(opened, { type: 'session', session: session.id })
      else attached.push({ session, opened })
    }
    // It may have gone while its sessions were opened: then nobody would ever detach them again.
    if (this.#ws.readyState !== this.#ws.OPEN) return
    const registered = attached.map(({ session, opened }) => this.#registered(session, opened.id))
    this.#send({ type: 'welcome', agent: known.id, sessions: registered })
    for (const { session, opened } of attached)
      this.#deps.hub.attach(this.#host, opened.id, session.id, session.spare)
    if (opens == null) return
    this.#host.place = { agent: known.id, cwd: opens }
    this.#deps.hub.join(this.#host)
  }

  async #register(session: HostedSession): Promise<void> {
    const opened = await this.#open(session)
    if (isRefusal(opened)) return this.#refuse(opened, { type: 'session', session: session.id })
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#send({ type: 'registered', ...this.#registered(session, opened.id) })
    this.#deps.hub.attach(this.#host, opened.id, session.id, session.spare)
  }

  #registered({ id }: HostedSession, sessionId: SessionId): Registered {
    return { id, sessionId, token: this.#deps.mint(sessionId) }
  }

  /** A program may give its sessions other titles as they go on. */
  async #open(session: HostedSession): Promise<{ id: SessionId } | Refusal> {
    const opened = await this.#known(session)
    return isRefusal(opened) || session.title === ''
      ? opened
      : this.#deps.desks.as({}).sessions.rename(opened.id, session.title)
  }

  async #known({ id, title, cwd, parent, as }: HostedSession): Promise<{ id: SessionId } | Refusal> {
    if (this.#agent === null) return badInput('type', 'session', '"hello" first')
    if (as != null) return this.#made(as)
    const above: SessionId | null = parent == null ? null : `ses_${hostedId(this.#name, parent)}`
    const { sessions } = this.#deps.desks.as({ act: hostedId(this.#name, id) })
    const made = await sessions.bring({ cwd, agent: this.#agent, title, parent: above })
    return isRefusal(made) ? made : { id: made.sessionId }
  }

  /** One that was made here: a program brings only what its own agent has. */
  async #made(given: SessionId): Promise<{ id: SessionId } | Refusal> {
    const known = await this.#deps.desks.as({}).sessions.get(given)
    if (isRefusal(known)) return known
    return known.agent === this.#agent
      ? { id: known.id }
      : badInput('as', given, `a session of ${this.#name}`)
  }

  #gone(own: string): void {
    for (const [session, id] of this.#host.sessions) if (id === own) this.#deps.hub.drop(this.#host, session)
  }

  #tool({ turn, id, name, input }: Extract<HostFrame, { type: 'tool' }>): void {
    const result = ({ ok, value }: ToolAnswer): void =>
      this.#send({ type: 'tool.result', turn, id, ok, value })
    const ended = (message: string): void =>
      result({ ok: false, value: { error: { code: 'call_ended', message } } })
    const hosted = this.#turn(turn)
    if (hosted === null) return ended(turnEnded)
    const open = this.#toolsRunning
    if (open >= toolsAtOnceMax)
      return this.#say({ code: 'too_many_calls', open, openMax: toolsAtOnceMax }, { type: 'tool', turn, id })
    this.#toolsRunning += 1
    hosted
      .tool(name, input)
      .then(result, (error: unknown) => ended(faultMessage(error)))
      .catch(this.#onFault)
      .finally(() => (this.#toolsRunning -= 1))
  }

  #say(refusal: Refusal, about: About): void {
    const field = 'field' in refusal ? { field: refusal.field } : {}
    const error = { code: refusal.code, message: explain(refusal), ...field }
    this.#send({ type: 'error', error, about })
  }

  #refuse(refusal: Refusal, about: About): void {
    this.#bad += 1
    this.#say(refusal, about)
    if (this.#bad >= badFramesMax) this.#ws.close(policyCode, 'too many bad frames')
  }

  #send(frame: ToHost): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    // One that asks for much and reads nothing: its turns wait for it to come back.
    if (this.#ws.bufferedAmount > unreadBytesMax) return this.#ws.terminate()
    this.#ws.send(JSON.stringify(frame))
  }
}

function parseFrame(text: string): { frame: HostFrame | Refusal; about: About } {
  const given = parseJson(text, 'frame', { ...inletLimits, bytesMax: hostFrameBytesMax })
  if (isRefusal(given)) return { frame: given, about: { type: 'unknown' } }
  const read = readInput(HostFrame, given.value)
  return { frame: isRefusal(read) ? read : read.data, about: describeFrame(given.value) }
}

/** As far as a frame that cannot be read can be read. */
function describeFrame(given: unknown): About {
  const { type, session, turn, id } = isRecord(given) ? given : {}
  const own = isRecord(session) ? session['id'] : session
  const texts = Object.entries({ session: own, turn, id }).filter(
    ([, text]) => typeof text === 'string' && text.length <= idShownMax,
  )
  return { type: typeof type === 'string' ? type.slice(0, 20) : 'unknown', ...Object.fromEntries(texts) }
}
