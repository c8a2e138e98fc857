import type { EventOf } from '../../model/event.ts'
import { callsBelow, isCallId, toTurnId, type CallId, type SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import { preview } from '../../model/text.ts'
import { refusedResult } from '../calls/call-events.ts'
import { callAgent } from '../calls/call.ts'
import type { Runtime } from '../kernel/runtime.ts'
import type { Acts, CallRequest, CallResult } from '../kernel/ports.ts'
import { hashText } from '../kernel/recorded.ts'
import { assertOurs, commit, turnProgress, settleBelow, timeLeft, type Running } from '../kernel/running.ts'
import { beginWait, endWait, createSessionActs } from './session-acts.ts'
import { callEnding, readEnding, toResult } from '../kernel/waiting.ts'

export function createActs(runtime: Runtime, running: Running): Acts {
  return {
    call: (request, key) => callAgent(runtime, running, request, key),
    refuse: (tool, requested, refusal, key) => refuseCall(runtime, running, tool, requested, refusal, key),
    waitForCall: (call, timeoutMs) => waitForCall(runtime, running, call, timeoutMs),
    readOutput: (call, offset, limit) => readOutput(runtime, running.row.session, call, offset, limit),
    ...createSessionActs(runtime, running),
  }
}

/** Every call is recorded once, also one that could not even be read as one. */
async function refuseCall(
  runtime: Runtime,
  running: Running,
  tool: CallRequest['tool'],
  requested: Json,
  refusal: Refusal,
  key: string,
): Promise<CallResult> {
  const recorded = running.recorded?.call(key, { tool })
  const call: CallId = recorded?.call ?? `call_${runtime.ids.next()}`
  const asked =
    typeof requested === 'object' && requested !== null && !Array.isArray(requested) ? requested : {}
  const agent = preview(renderField(asked['agent_name'] ?? asked['agent_id']), agentShownMax)
  if (recorded === undefined) {
    const task = preview(renderField(asked['task'] ?? asked['message']), taskShownMax)
    const event: EventOf<'call.refused'> = {
      type: 'call.refused',
      session: running.row.session,
      turn: running.row.id,
      call,
      key,
      tool,
      agent,
      task,
      taskHash: hashText(task),
      requested,
      refusal,
    }
    await commit(
      runtime,
      running,
      [`session:${running.row.session}`, `call:${call}`],
      async (tx, buffered) => {
        assertOurs(await tx.activation(running.row.id), running, runtime)
        tx.append(...buffered, event)
      },
    )
  }
  return refusedResult(running, call, agent, refusal)
}

const taskShownMax = 2000
const agentShownMax = 200
const renderField = (value: Json | undefined): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)

/** A call of this session, in a turn of it or between, or a refusal that says that there is none. */
async function ownCall(runtime: Runtime, session: SessionId, call: string) {
  const row = isCallId(call) ? await runtime.store.turn(toTurnId(call)) : null
  return row?.call != null &&
    (row.call.caller === session ||
      callsBelow(row.call.caller) === session ||
      row.call.caller === callsBelow(session))
    ? row
    : ({ code: 'call_unknown', call } satisfies Refusal)
}

async function waitForCall(
  runtime: Runtime,
  running: Running,
  call: string,
  timeoutMs: number,
): ReturnType<Acts['waitForCall']> {
  const row = await ownCall(runtime, running.row.session, call)
  if (isRefusal(row)) return row
  const id = call as CallId
  const { ending, forget } = callEnding(runtime, id)
  try {
    const known = await readEnding(runtime, id)
    const ended = known?.ended ?? (await blockOn(runtime, running, row.session, ending, timeoutMs))
    if (ended === null) return { partial: readPartial(runtime, id) }
    if (row.call?.callerTurn === running.row.id) settleBelow(running, ended)
    const opened = await runtime.store.event(row.openedSeq)
    return {
      result: toResult(ended, row),
      tool: opened?.event.type === 'call.opened' ? opened.event.tool : '',
    }
  } finally {
    forget()
  }
}

/**
 * For a client outside: nobody can wait for it, so its wait is no edge. A session of a connected program
 * waits in a turn (`client-turn.ts`).
 */
export async function waitAsClient(
  runtime: Runtime,
  session: SessionId,
  call: string,
  timeoutMs: number,
  signal: AbortSignal,
): ReturnType<Acts['waitForCall']> {
  const row = await ownCall(runtime, session, call)
  if (isRefusal(row)) return row
  const { ending, forget } = callEnding(runtime, call as CallId)
  try {
    const known = await readEnding(runtime, call as CallId)
    const ended = known?.ended ?? (await race(runtime, signal, ending, timeoutMs))
    if (ended === null) return { partial: readPartial(runtime, call as CallId) }
    const opened = await runtime.store.event(row.openedSeq)
    return {
      result: toResult(ended, row),
      tool: opened?.event.type === 'call.opened' ? opened.event.tool : '',
    }
  } finally {
    forget()
  }
}

function readPartial(runtime: Runtime, call: CallId): string {
  const running = runtime.running.get(toTurnId(call))
  return running === undefined ? '' : turnProgress(running).output
}

/**
 * R5: a wait is an edge like a call's. One that would close a ring is not begun: the present state is the
 * answer. Null when the time is over.
 */
async function blockOn(
  runtime: Runtime,
  running: Running,
  target: Running['row']['session'],
  ending: Promise<EventOf<'call.ended'>>,
  timeoutMs: number,
): Promise<EventOf<'call.ended'> | null> {
  const end = runtime.clock.elapsed() + Math.min(timeoutMs, timeLeft(runtime, running))
  if (!(await beginWait(runtime, running, target, end))) return null
  const ended = await race(runtime, running.abort.signal, ending, end - runtime.clock.elapsed())
  await endWait(runtime, running, target, ended === null ? 'time is over' : 'the call ended')
  return ended
}

function race(
  runtime: Runtime,
  signal: AbortSignal,
  ending: Promise<EventOf<'call.ended'>>,
  ms: number,
): Promise<EventOf<'call.ended'> | null> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    const clearAlarm = runtime.alarm.after(ms, () => settle(null))
    const settle = (ended: EventOf<'call.ended'> | null): void => {
      clearAlarm()
      signal.removeEventListener('abort', abort)
      resolve(ended)
    }
    signal.addEventListener('abort', abort, { once: true })
    ending.then(settle, reject)
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
  const known = await readEnding(runtime, call as CallId)
  const output = known?.ended.output ?? readPartial(runtime, call as CallId)
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
