/**
 * The act of calling: decide and record in one transaction (R1), run or queue the callee, come back with an
 * outcome by the deadline (R4).
 * The rules are in `model/call.ts`; here are their facts, their keys, and what follows a yes.
 */
import { type OpenDecision } from '../../model/call.ts'
import { endAtOnce } from '../../model/end.ts'
import type { Event } from '../../model/event.ts'
import { toTurnId, type CallId, type Millis, type SessionId } from '../../model/id.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import { callMsMax, turnMsMax } from '../../model/time-limits.ts'
import { describeTimeout } from '../../model/timeout-words.ts'
import { buildContext, isTold, type BuiltContext } from '../turns/context.ts'
import { expireCall } from '../turns/ending.ts'
import { assertOurs, commit, isOpened, type OpenedTurn, openTurn, startedEvent } from '../kernel/commit.ts'
import { lookAtDay } from '../kernel/day-spending.ts'
import { Fenced } from '../kernel/faults.ts'
import { forgetTime, keepTime, msLeft } from '../kernel/kept-time.ts'
import { createdEvent } from '../kernel/new-session.ts'
import { findAgent, inProject } from '../kernel/projects-port.ts'
import { isThere } from '../kernel/runtime.ts'
import type { Runtime } from './runtime.ts'
import type { Key, Tx } from '../kernel/store-port.ts'
import type { CallRequest, CallResult, StartedCall } from '../kernel/ports.ts'
import { hashText } from '../kernel/recorded.ts'
import { refuseSchema } from '../turns/repair.ts'
import { cancelWhenGone } from '../turns/turn-ending.ts'
import { settleBelow, type Running } from '../kernel/running.ts'
import { callEnding, readEnding, toResult, untilAborted } from '../kernel/waiting.ts'
import {
  type Plan,
  type Opened,
  resolveTarget,
  judge,
  findSession,
  noContext,
  describeRequest,
} from './call-plan.ts'
import { openedEvent, refusedEvent, refusedResult } from './call-events.ts'
import { noteTools, refuseFilter } from './call-notes.ts'

/** `gone`: whoever asked for it may go away, and has cancelled it then. */
export async function callAgent(
  runtime: Runtime,
  caller: Running,
  request: CallRequest,
  key: string,
  gone?: AbortSignal,
): Promise<CallResult | StartedCall> {
  const recorded = caller.recorded?.call(key, { tool: request.tool, task: request.task })
  if (recorded?.type === 'call.refused')
    return refusedResult(caller, recorded.call, recorded.agent, recorded.refusal)
  if (recorded !== undefined) return goOn(runtime, caller, recorded, gone)
  return openNew(inProject(runtime, caller.session.cwd), caller, request, key, gone)
}

/** With what the files of its project say at this moment. */
async function openNew(
  runtime: Runtime,
  caller: Running,
  request: CallRequest,
  key: string,
  gone?: AbortSignal,
): Promise<CallResult | StartedCall> {
  const suffix = runtime.ids.next()
  const target = resolveTarget(runtime, caller, request, suffix)
  const bare: Plan = {
    call: `call_${suffix}`,
    key,
    target,
    request,
    requested: describeRequest(request),
    taskHash: hashText(request.task),
    boundary: runtime.ids.boundary(),
    context: noContext(),
    notes: noteTools(caller, request, target.agent),
  }
  const open = async (): Promise<Opened | Refusal> => {
    const plan: Plan = { ...bare, context: await planContext(runtime, caller, bare) }
    const looking = lookAtDay(runtime, caller.session.cwd)
    if (looking !== null) await looking
    gone?.throwIfAborted()
    // Counted before the commit: from then on the turn must not end without looking below.
    caller.pendingBelow += 1
    return decide(runtime, caller, plan)
  }
  // A summary takes as long as a model does: others need not wait for it.
  const isLong = request.context?.include_summary === true
  const { flow } = caller.row
  if (!isLong) await runtime.opening.enter(flow)
  const decided = await open().finally(() => isLong || runtime.opening.leave(flow))
  if (!isRefusal(decided)) return goOn(runtime, caller, decided, gone)
  caller.pendingBelow -= 1
  return refusedResult(caller, bare.call, target.name, decided)
}

/**
 * A summary costs tokens, so nobody writes one for a call that will be refused anyway; the refusal itself is
 * decided, and recorded, afterwards.
 */
async function planContext(runtime: Runtime, caller: Running, bare: Plan): Promise<BuiltContext | Refusal> {
  const { target, request, boundary } = bare
  const unfit = refuseFilter(caller, request)
  if (unfit !== null) return unfit
  const refusal = await refuseSchema(
    runtime.schemas,
    request.outputSchema,
    caller.row.flow,
    caller.abort.signal,
  )
  if (refusal !== null) return refusal
  // Who a session belongs to is known only when its row is read; it brings its own context.
  if (target.agent === undefined) return noContext()
  if (request.context?.include_summary !== true || (await wouldOpen(runtime, caller, bare)))
    return buildContext(runtime, caller, request, target.agent, target.fresh, boundary)
  return buildContext(
    runtime,
    caller,
    { ...request, context: { ...request.context, include_summary: false } },
    target.agent,
    target.fresh,
    boundary,
  )
}

async function wouldOpen(runtime: Runtime, caller: Running, plan: Plan): Promise<boolean> {
  return runtime.store.transact(listKeys(caller, plan), async (tx) => {
    const facts = await tx.open({
      call: plan.call,
      callerTurn: caller.row.id,
      target: plan.target.fresh ? null : plan.target.session,
    })
    return (
      facts !== null &&
      !isRefusal(
        judge(runtime, caller, plan, facts, findSession(runtime, caller, plan.target, facts, tx.now), tx.now),
      )
    )
  })
}

const goOn = (
  runtime: Runtime,
  caller: Running,
  opened: Opened,
  gone?: AbortSignal,
): Promise<CallResult | StartedCall> => {
  const wait = (): Promise<CallResult | StartedCall> => waitFor(runtime, caller, opened)
  return gone === undefined
    ? wait()
    : cancelWhenGone(runtime, toTurnId(opened.call), gone, 'the client went away', wait)
}

/** R4: the deadline is kept here by the alarm, and by any node's sweep if this one dies. */
async function waitFor(runtime: Runtime, caller: Running, opened: Opened): Promise<CallResult | StartedCall> {
  keepTime(runtime, opened.call, opened.deadline)
  if (!opened.background) return awaitCall(runtime, caller, opened)
  limitBackground(runtime, opened.call, opened.deadline)
  return { call: opened.call, outcome: null, notes: opened.notes ?? [] }
}

/** Nobody waits for it here; its alarm still must not stay until a deadline that may be hours after its end. */
function limitBackground(runtime: Runtime, call: CallId, deadline: Millis): void {
  const { ending, forget } = callEnding(runtime, call)
  const clearAlarm = runtime.alarm.after(msLeft(runtime, call, deadline), () => {
    forget()
    void expireCall(runtime, call, true).catch(runtime.report)
  })
  void ending.then(clearAlarm, clearAlarm)
}

export async function awaitCall(runtime: Runtime, caller: Running, opened: Opened): Promise<CallResult> {
  const { ending, forget } = callEnding(runtime, opened.call)
  const isOver = msLeft(runtime, opened.call, opened.deadline) <= 0
  const known = caller.recorded === null && !isOver ? null : await readEnding(runtime, opened.call)
  const clearAlarm = runtime.alarm.after(
    msLeft(runtime, opened.call, opened.deadline),
    () => void expireCall(runtime, opened.call, true).catch(runtime.report),
  )
  const { signal } = caller.abort
  try {
    const ended = known?.ended ?? (await untilAborted(ending, signal))
    settleBelow(caller, ended)
    forgetTime(runtime, opened.call)
    return toResult(ended, opened)
  } finally {
    clearAlarm()
    forget()
  }
}

async function decide(runtime: Runtime, caller: Running, plan: Plan): Promise<Opened | Refusal> {
  const { call, target } = plan
  const decided = await openTurn(runtime, toTurnId(call), target.session, () =>
    commit(runtime, caller, listKeys(caller, plan), (tx, buffered) =>
      record(tx, runtime, caller, plan, buffered),
    ),
  )
  return isOpened(decided) ? decided.input : decided
}

export async function record(
  tx: Tx,
  runtime: Runtime,
  caller: Running,
  plan: Plan,
  buffered: readonly Event[],
): Promise<OpenedTurn<Opened> | Refusal> {
  const { call, target } = plan
  const facts = await tx.open({
    call,
    callerTurn: caller.row.id,
    target: target.fresh ? null : target.session,
  })
  if (facts === null) throw new Fenced(`${caller.row.id} is not known`)
  assertOurs(facts.caller.turn, caller, runtime)
  const session = findSession(runtime, caller, target, facts, tx.now)
  const judged = judge(runtime, caller, plan, facts, session, tx.now)
  const decision: OpenDecision =
    session === null && !isRefusal(judged) ? { code: 'session_unknown', session: target.session } : judged
  if (session === null || isRefusal(decision)) {
    tx.append(...buffered, refusedEvent(caller, plan, decision as Refusal))
    return decision as Refusal
  }
  const isNew = target.fresh || facts.target?.session === null
  const told = isTold(runtime, plan.request)
  const opened = openedEvent(caller, plan, decision, told, isNew ? null : await tx.notices(target.session))
  const { deadline } = decision
  const isOver = deadline <= tx.now
  const agent = findAgent(runtime, session)
  const msMax = callMsMax(plan.request.tool, agent, runtime.limits)
  const starts = !isOver && isThere(runtime, agent, session) && (isNew || (await isIdle(tx, target.session)))
  const until = target.fresh ? deadline : tx.now + turnMsMax(agent, runtime.limits)
  const started = starts ? startedEvent(runtime, target.session, toTurnId(call), until) : null
  keepTime(runtime, call, deadline)
  tx.append(
    ...buffered,
    opened,
    ...(isNew ? [createdEvent(session, { turn: toTurnId(call) })] : []),
    ...(started === null ? [] : [started]),
    ...(isOver ? [endAtOnce(opened, describeTimeout(opened, tx.now, msMax), tx.now)] : []),
  )
  return { session, input: opened, started, at: tx.now }
}

const listKeys = (caller: Running, { call, target }: Plan): Key[] => [
  `session:${caller.row.session}`,
  `flow:${caller.row.flow}`,
  `call:${call}`,
  `session:${target.session}`,
]

async function isIdle(tx: Tx, session: SessionId): Promise<boolean> {
  const { running, next } = await tx.session(session)
  return running === null && next === null
}
