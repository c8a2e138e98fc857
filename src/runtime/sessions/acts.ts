import { inProject } from '../kernel/projects-port.ts'
import type { EventOf } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { callsBelow, isCallId, toTurnId, type CallId, type SessionId } from '../../model/id.ts'
import { type Refusal, badInput, isRefusal } from '../../model/refusal.ts'
import { callAgent } from '../calls/call.ts'
import { refuseCall } from '../calls/refuse-call.ts'
import { steerCall } from '../calls/steer.ts'
import { listenForStop } from '../kernel/runtime.ts'
import type { Runtime } from './runtime.ts'
import { listCallableAgents } from '../look/callable-agents.ts'
import type { Acts } from '../kernel/ports.ts'
import { joinSignals, settleBelow, timeLeft, turnProgress, type Running } from '../kernel/running.ts'
import { beginWait, endWait, createSessionActs, type SessionActs } from './session-acts.ts'
import { callEnding, readEnding, toResult } from '../kernel/waiting.ts'

/** `gone`: for a program that may go away, and does not wait for anything then. */
export const createActs = (runtime: Runtime, running: Running, gone?: AbortSignal): Acts =>
  new TurnActs(runtime, running, gone)

type Given<Name extends keyof Acts> = Parameters<Acts[Name]>

/** Every turn has one, and most ask for little of it: what only some do is made when they do. */
class TurnActs implements Acts {
  readonly #runtime: Runtime
  readonly #running: Running
  readonly #gone: AbortSignal | undefined
  #others: SessionActs | null = null

  constructor(runtime: Runtime, running: Running, gone?: AbortSignal) {
    this.#runtime = runtime
    this.#running = running
    this.#gone = gone
  }

  call(...[request, key]: Given<'call'>): ReturnType<Acts['call']> {
    return callAgent(this.#runtime, this.#running, request, key, this.#gone)
  }
  refuse(...[tool, requested, refusal, key]: Given<'refuse'>): ReturnType<Acts['refuse']> {
    return refuseCall(this.#runtime, this.#running, tool, requested, refusal, key)
  }
  waitForCall(...[call, timeoutMs]: Given<'waitForCall'>): ReturnType<Acts['waitForCall']> {
    return waitForCall(this.#runtime, this.#running, call, timeoutMs, this.#gone)
  }
  readOutput(...[call, offset, limit]: Given<'readOutput'>): ReturnType<Acts['readOutput']> {
    return readOutput(this.#runtime, this.#running.row.session, call, offset, limit)
  }
  async listAgents(...[callable, query]: Given<'listAgents'>): ReturnType<Acts['listAgents']> {
    return listCallableAgents(inProject(this.#runtime, this.#running.session.cwd), callable, query)
  }
  steer(...[call, text, key]: Given<'steer'>): ReturnType<Acts['steer']> {
    const { row } = this.#running
    return steerOwn(this.#runtime, row.session, call, text, `${row.id}-${key}`)
  }

  #sessionActs(): SessionActs {
    return (this.#others ??= createSessionActs(this.#runtime, this.#running, this.#gone))
  }
  send(...given: Given<'send'>): ReturnType<Acts['send']> {
    return this.#sessionActs().send(...given)
  }
  spawn(...given: Given<'spawn'>): ReturnType<Acts['spawn']> {
    return this.#sessionActs().spawn(...given)
  }
  state(...given: Given<'state'>): ReturnType<Acts['state']> {
    return this.#sessionActs().state(...given)
  }
  waitForSession(...given: Given<'waitForSession'>): ReturnType<Acts['waitForSession']> {
    return this.#sessionActs().waitForSession(...given)
  }
  listSessions(...given: Given<'listSessions'>): ReturnType<Acts['listSessions']> {
    return this.#sessionActs().listSessions(...given)
  }
  sendMail(...given: Given<'sendMail'>): ReturnType<Acts['sendMail']> {
    return this.#sessionActs().sendMail(...given)
  }
  readInbox(...given: Given<'readInbox'>): ReturnType<Acts['readInbox']> {
    return this.#sessionActs().readInbox(...given)
  }
  waitForMail(...given: Given<'waitForMail'>): ReturnType<Acts['waitForMail']> {
    return this.#sessionActs().waitForMail(...given)
  }
  acceptMail(...given: Given<'acceptMail'>): ReturnType<Acts['acceptMail']> {
    return this.#sessionActs().acceptMail(...given)
  }
}

/**
 * A call of this session, in a turn of it or between, by its id, a part that only one has, or `last`; or a
 * refusal that says that there is none, or which could be meant.
 */
async function ownCall(runtime: Runtime, session: SessionId, given: string) {
  const exact = await findOwn(runtime, session, given)
  if (exact !== null) return exact
  const ids = await listOwn(runtime, session)
  const meant =
    given === 'last' ? ids.slice(0, 1) : given === '' ? [] : ids.filter((id) => id.includes(given))
  const [only] = meant
  const found = only !== undefined && meant.length === 1 ? await findOwn(runtime, session, only) : null
  if (found !== null) return found
  return meant.length > 1
    ? badInput('call_id', given, `a whole id, one of ${meant.slice(0, candidatesMax).join(', ')}`)
    : ({ code: 'call_unknown', call: given } satisfies Refusal)
}

/** Its own calls, and those below them: their path leads through this session. */
export async function steerOwn(
  runtime: Runtime,
  session: SessionId,
  call: string,
  text: string,
  act: string | null,
): ReturnType<Acts['steer']> {
  const below = isCallId(call) ? await runtime.store.turn(toTurnId(call)) : null
  const isAbove = below?.grant.path.slice(0, -1).some((hop) => hop.session === session) === true
  const row = isAbove && below?.call != null ? below : await ownCall(runtime, session, call)
  if (isRefusal(row)) return row
  return steerCall(runtime, (row.call as NonNullable<TurnRow['call']>).id, text, session, act)
}

const candidatesMax = 10
const ownCallsMax = 200

async function findOwn(runtime: Runtime, session: SessionId, call: string) {
  const row = isCallId(call) ? await runtime.store.turn(toTurnId(call)) : null
  const isOwn =
    row?.call != null &&
    (row.call.caller === session ||
      callsBelow(row.call.caller) === session ||
      row.call.caller === callsBelow(session))
  return isOwn ? { ...row, call: row.call as NonNullable<typeof row.call> } : null
}

/** The newest calls of a session that were opened, newest first. */
async function listOwn({ lists }: Runtime, session: SessionId): Promise<string[]> {
  const pages = await Promise.all(
    [session, callsBelow(session)].map((caller) =>
      lists.calls({ session: caller, before: null }, ownCallsMax),
    ),
  )
  return pages.flatMap(({ calls }) =>
    calls.flatMap(({ first: { event } }) =>
      event.type === 'call.opened' && event.target !== session ? [event.call] : [],
    ),
  )
}

type Ended = EventOf<'call.ended'>

/** The result of a call of this session, or what it has said so far where `wait` gives up or finds a ring. */
async function waitThrough(
  runtime: Runtime,
  session: SessionId,
  call: string,
  wait: (ending: Promise<Ended>, row: TurnRow) => Promise<Ended | string[] | null>,
  settle: (ended: Ended, row: TurnRow) => void = () => undefined,
): ReturnType<Acts['waitForCall']> {
  const row = await ownCall(runtime, session, call)
  if (isRefusal(row)) return row
  const { ending, forget } = callEnding(runtime, row.call.id)
  try {
    const known = await readEnding(runtime, row.call.id)
    const ended = known?.ended ?? (await wait(ending, row))
    if (ended === null) return { partial: readPartial(runtime, row.call.id) }
    if (Array.isArray(ended)) return { partial: readPartial(runtime, row.call.id), ring: ended }
    settle(ended, row)
    noteRead(runtime, row.call.id)
    const opened = await runtime.store.event(row.openedSeq)
    return opened?.event.type === 'call.opened'
      ? { result: toResult(ended, opened.event), tool: opened.event.tool }
      : { result: toResult(ended, row), tool: '' }
  } finally {
    forget()
  }
}

/** R11: of older ones somebody is told once more. */
const readMax = 10_000

function noteRead({ readResults }: Runtime, call: CallId): void {
  if (readResults.size >= readMax) readResults.clear()
  readResults.add(call)
}

const waitForCall = (
  runtime: Runtime,
  running: Running,
  call: string,
  timeoutMs: number,
  gone?: AbortSignal,
): ReturnType<Acts['waitForCall']> =>
  waitThrough(
    runtime,
    running.row.session,
    call,
    (ending, row) => blockOn(runtime, running, row.session, ending, timeoutMs, joinSignals(running, gone)),
    (ended, row) => {
      if (row.call?.callerTurn === running.row.id) settleBelow(running, ended)
    },
  )

/**
 * For a client outside: nobody can wait for it, so its wait is no edge. A session of a connected program
 * waits in a turn (`client-turn.ts`).
 */
export const waitAsClient = (
  runtime: Runtime,
  session: SessionId,
  call: string,
  timeoutMs: number,
  signal: AbortSignal,
): ReturnType<Acts['waitForCall']> =>
  waitThrough(runtime, session, call, (ending) => race(runtime, signal, ending, timeoutMs))

function readPartial(runtime: Runtime, call: CallId): string {
  const running = runtime.running.get(toTurnId(call))
  return running === undefined ? '' : turnProgress(running).output
}

/**
 * R5: a wait is an edge like a call's. One that would close a ring is not begun: the present state is the
 * answer, with the ring. Null when the time is over.
 */
async function blockOn(
  runtime: Runtime,
  running: Running,
  target: Running['row']['session'],
  ending: Promise<Ended>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Ended | string[] | null> {
  const end = runtime.clock.elapsed() + Math.min(timeoutMs, timeLeft(runtime, running))
  const ring = await beginWait(runtime, running, target, end)
  if (ring !== null) return ring
  const left = end - runtime.clock.elapsed()
  const ended = await race(runtime, signal, ending, left).catch(async (fault: unknown) => {
    await endWait(runtime, running, target, 'it broke off')
    throw fault
  })
  await endWait(runtime, running, target, ended === null ? 'time is over' : 'the call ended')
  return ended
}

/** Null when the time is over. */
function race(
  runtime: Runtime,
  signal: AbortSignal,
  ending: Promise<Ended>,
  ms: number,
): Promise<Ended | null> {
  for (const over of [signal, runtime.stopping.signal]) if (over.aborted) return Promise.reject(over.reason)
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearAlarm()
      forget()
      signal.removeEventListener('abort', abort)
    }
    const fail = (reason: unknown): void => {
      leave()
      reject(reason)
    }
    const abort = (): void => fail(signal.reason)
    const settle = (ended: Ended | null): void => {
      leave()
      resolve(ended)
    }
    const clearAlarm = runtime.alarm.after(ms, () => settle(null))
    const forget = listenForStop(runtime, fail)
    signal.addEventListener('abort', abort, { once: true })
    ending.then(settle, fail)
  })
}

/** Offsets are UTF-16 units, moved so that no code point is split. */
export async function readOutput(
  runtime: Runtime,
  session: SessionId,
  call: string,
  offset: number,
  limit: number,
): ReturnType<Acts['readOutput']> {
  const row = await ownCall(runtime, session, call)
  if (isRefusal(row)) return row
  const known = await readEnding(runtime, row.call.id)
  const output = known?.ended.output ?? readPartial(runtime, row.call.id)
  const start = whole(output, Math.min(offset, output.length))
  const end = whole(output, Math.min(start + Math.max(2, limit), output.length))
  return {
    text: output.slice(start, end),
    offset: start,
    nextOffset: end < output.length ? end : null,
    total: output.length,
  }
}

const whole = (text: string, at: number): number =>
  at > 0 && at < text.length && /[\udc00-\udfff]/.test(text.charAt(at)) ? at - 1 : at
