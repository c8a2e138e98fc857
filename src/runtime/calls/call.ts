/**
 * The act of calling: decide and record in one transaction (R1), run or queue the callee, come back with an
 * outcome by the deadline (R4).
 * The rules are in `model/call.ts`; here are their facts, their keys, and what follows a yes.
 */
import { openCall, type OpenDecision, type OpenRequest } from '../../model/call.ts'
import type { Manifest } from '../../model/context.ts'
import { externalAgent, type Agent } from '../../model/agent.ts'
import type { Event, EventOf, Notices } from '../../model/event.ts'
import type { OpenFacts, SessionRow } from '../../model/facts.ts'
import type { Boundary } from '../../model/frame.ts'
import { toTurnId, type CallId, type Millis, type SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { explain, type Refusal, isRefusal } from '../../model/refusal.ts'
import { preview } from '../../model/text.ts'
import { buildContext, type BuiltContext } from '../turns/context.ts'
import { expireCall } from '../turns/ending.ts'
import { Fenced } from '../kernel/faults.ts'
import { deadlineNow, forgetTime, keepTime, msLeft } from '../kernel/kept-time.ts'
import { createdEvent, newSession } from '../kernel/new-session.ts'
import { isOpened, openTurn, startedEvent, type OpenedTurn } from '../kernel/open-turn.ts'
import { isThere, type Runtime } from '../kernel/runtime.ts'
import type { CallRequest, CallResult, Key, Tx } from '../kernel/ports.ts'
import { hashText } from '../kernel/recorded.ts'
import { refuseSchema } from '../turns/repair.ts'
import { assertOurs, commit, settleBelow, type Running } from '../kernel/running.ts'
import { callEnding, readEnding, toResult } from '../kernel/waiting.ts'

type Target = {
  agent: Agent | undefined
  name: string
  session: SessionId
  fresh: boolean
  makeMain: boolean
}
type Plan = {
  call: CallId
  key: string
  target: Target
  request: CallRequest
  requested: Json
  taskHash: string
  boundary: Boundary
  context: BuiltContext | Refusal
}
export type Opened = EventOf<'call.opened'>

export async function callAgent(
  runtime: Runtime,
  caller: Running,
  request: CallRequest,
  key: string,
): Promise<CallResult | { call: CallId; outcome: null }> {
  const recorded = caller.recorded?.call(key, { tool: request.tool, task: request.task })
  if (recorded?.type === 'call.refused')
    return refusedResult(caller, recorded.call, recorded.agent, recorded.refusal)
  if (recorded !== undefined) return goOn(runtime, caller, recorded)
  const suffix = runtime.ids.next()
  const target = targetOf(runtime, caller, request, suffix)
  const bare: Plan = {
    call: `call_${suffix}`,
    key,
    target,
    request,
    requested: requestedOf(request),
    taskHash: hashText(request.task),
    boundary: runtime.ids.boundary(),
    context: { manifest: emptyManifest },
  }
  const plan: Plan = { ...bare, context: await contextOf(runtime, caller, bare) }
  // Counted before the commit: from then on the turn must not end without looking below.
  caller.pendingBelow += 1
  const decided = await decide(runtime, caller, plan)
  if (!isRefusal(decided)) return goOn(runtime, caller, decided)
  caller.pendingBelow -= 1
  return refusedResult(caller, plan.call, target.name, decided)
}

/**
 * A summary costs tokens, so nobody writes one for a call that will be refused anyway; the refusal itself is
 * decided, and recorded, afterwards.
 */
async function contextOf(runtime: Runtime, caller: Running, bare: Plan): Promise<BuiltContext | Refusal> {
  const { target, request, boundary } = bare
  const refusal = await refuseSchema(
    runtime.schemas,
    request.outputSchema,
    caller.row.flow,
    caller.abort.signal,
  )
  if (refusal !== null) return refusal
  // Who a session belongs to is known only when its row is read; it brings its own context.
  if (target.agent === undefined) return { manifest: emptyManifest }
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
  return runtime.store.transact(keysOf(caller, plan), async (tx) => {
    const facts = await tx.open({
      call: plan.call,
      callerTurn: caller.row.id,
      target: plan.target.fresh ? null : plan.target.session,
    })
    return (
      facts !== null &&
      !isRefusal(judge(runtime, caller, plan, facts, sessionOf(caller, plan.target, facts, tx.now), tx.now))
    )
  })
}

/** R4: the deadline is kept here by the alarm, and by any node's sweep if this one dies. */
async function goOn(
  runtime: Runtime,
  caller: Running,
  opened: Opened,
): Promise<CallResult | { call: CallId; outcome: null }> {
  keepTime(runtime, opened.call, opened.deadline)
  if (opened.background) {
    runtime.alarm.after(
      msLeft(runtime, opened.call, opened.deadline),
      () => void expireCall(runtime, opened.call, true).catch(runtime.report),
    )
    return { call: opened.call, outcome: null }
  }
  return awaitCall(runtime, caller, opened)
}

export async function awaitCall(runtime: Runtime, caller: Running, opened: Opened): Promise<CallResult> {
  const { ending, forget } = callEnding(runtime, opened.call)
  const known = caller.recorded === null ? null : await readEnding(runtime, opened.call)
  const silence = runtime.alarm.after(
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
    silence()
    forget()
  }
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    promise.then((value) => {
      signal.removeEventListener('abort', abort)
      resolve(value)
    }, reject)
  })
}

/**
 * An agent by name gets a fresh session with the call's own suffix; `call_agent` speaks to the agent's main
 * session, made at first use.
 */
function targetOf(runtime: Runtime, caller: Running, request: CallRequest, suffix: string): Target {
  if ('session' in request.target)
    return {
      agent: undefined,
      name: request.target.session,
      session: request.target.session,
      fresh: false,
      makeMain: false,
    }
  const name = request.tool === 'subagent' ? (runtime.subagent ?? caller.agent.name) : request.target.agent
  const agent = runtime.agents.resolve?.(name) ?? runtime.agents.get(name)
  if (request.tool === 'call_agent')
    return {
      agent,
      name: agent?.name ?? name,
      session: `ses_main-${agent?.name ?? name}`,
      fresh: false,
      makeMain: true,
    }
  return { agent, name: agent?.name ?? name, session: `ses_${suffix}`, fresh: true, makeMain: false }
}

async function decide(runtime: Runtime, caller: Running, plan: Plan): Promise<Opened | Refusal> {
  const { call, target } = plan
  const decided = await openTurn(runtime, toTurnId(call), target.session, () =>
    commit(runtime, caller, keysOf(caller, plan), (tx, buffered) =>
      record(tx, runtime, caller, plan, buffered),
    ),
  )
  return isOpened(decided) ? decided.input : decided
}

async function record(
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
  const session = sessionOf(caller, target, facts, tx.now)
  const judged = judge(runtime, caller, plan, facts, session, tx.now)
  const decision: OpenDecision =
    session === null && !isRefusal(judged) ? { code: 'session_unknown', session: target.session } : judged
  if (session === null || isRefusal(decision)) {
    tx.append(...buffered, refusedEvent(caller, plan, decision as Refusal))
    return decision as Refusal
  }
  const isNew = target.fresh || facts.target?.session === null
  const { grant, deadline } = decision
  const opened = openedEvent(caller, plan, grant, deadline, isNew ? null : await tx.notices(target.session))
  const starts =
    isThere(runtime, runtime.agents.get(session.agent), target.session) &&
    (isNew || (await isIdle(tx, target.session)))
  const until = target.fresh ? deadline : tx.now + runtime.limits.turnMsMax
  const started = starts ? startedEvent(runtime, target.session, toTurnId(call), until) : null
  tx.append(
    ...buffered,
    opened,
    ...(isNew ? [createdEvent(session, { turn: toTurnId(call) })] : []),
    ...(started === null ? [] : [started]),
  )
  return { session, input: opened, started, at: tx.now }
}

const keysOf = (caller: Running, { call, target }: Plan): Key[] => [
  `session:${caller.row.session}`,
  `flow:${caller.row.flow}`,
  `call:${call}`,
  `session:${target.session}`,
]

const judge = (
  runtime: Runtime,
  caller: Running,
  plan: Plan,
  facts: OpenFacts,
  session: SessionRow | null,
  now: Millis,
): OpenDecision =>
  openCall(
    openRequest(runtime, plan, session),
    {
      ...withTarget(facts, plan.target, session),
      caller: {
        turn: { ...caller.row, ...changedOf(runtime, facts), tokensUsed: caller.tokensUsed },
        session: caller.session,
      },
    },
    {
      callerAgent: callerAgentOf(runtime, facts),
      knownAgents: runtime.agents.names(),
      limits: runtime.limits,
      now,
      callerTaskHash: caller.input.type === 'call.opened' ? caller.input.taskHash : null,
    },
  )

/** What was fixed when the caller's turn opened is in memory; the rest comes from the facts. */
const changedOf = (runtime: Runtime, { caller: { turn } }: OpenFacts) => ({
  state: turn.state,
  stopping: turn.stopping,
  tokensBelow: turn.tokensBelow,
  deadline: deadlineNow(runtime, turn.id, turn.deadline),
  call:
    turn.call === null
      ? null
      : { ...turn.call, deadline: deadlineNow(runtime, turn.call.id, turn.call.deadline) },
})

/**
 * The session that will serve the call: one that is made for it, the agent's main one (made at first use), or
 * the one that was named.
 */
function sessionOf(caller: Running, target: Target, facts: OpenFacts, now: Millis): SessionRow | null {
  if (!target.fresh && (facts.target?.session != null || !target.makeMain))
    return facts.target?.session ?? null
  const { cwd } = caller.session
  return target.fresh
    ? newSession({ agent: target.name, cwd, parent: caller.row.session }, target.session, now, 'ephemeral')
    : newSession({ agent: target.name, cwd, title: target.name }, target.session, now)
}

const withTarget = (facts: OpenFacts, target: Target, session: SessionRow | null): OpenFacts =>
  target.fresh || facts.target === null ? facts : { ...facts, target: { ...facts.target, session } }

async function isIdle(tx: Tx, session: SessionId): Promise<boolean> {
  const { running, next } = await tx.session(session)
  return running === null && next === null
}

function openRequest(
  runtime: Runtime,
  { target, request, taskHash, context }: Plan,
  session: SessionRow | null,
): OpenRequest {
  const agent = target.agent ?? (session === null ? undefined : runtime.agents.get(session.agent))
  const limitMs = agent?.limits.timeoutSeconds === undefined ? Infinity : agent.limits.timeoutSeconds * 1000
  const fallbackMs = {
    sub_agent: runtime.limits.subAgentTimeoutMs,
    subagent: runtime.limits.subagentTimeoutMs,
    call_agent: runtime.limits.callAgentTimeoutMs,
  }[request.tool]
  return {
    tool: request.tool,
    targetName: target.name,
    bySession: !target.fresh && !target.makeMain,
    targetAgent: agent,
    session: target.session,
    fresh: target.fresh,
    task: request.task,
    taskHash,
    allowedTools: request.allowedTools,
    nested: request.nested,
    timeoutMs: Math.min(request.timeoutMs ?? fallbackMs, limitMs),
    maxIterations: request.maxIterations,
    maxTokens: request.maxTokens,
    background: request.background,
    context: isRefusal(context) ? context : { tokens: context.manifest.tokens },
  }
}

const callerAgentOf = (runtime: Runtime, facts: OpenFacts): Agent =>
  facts.caller.turn.grant.agent === externalAgent.name
    ? externalAgent
    : (runtime.agents.get(facts.caller.turn.grant.agent) ?? {
        ...externalAgent,
        name: facts.caller.turn.grant.agent,
        allowSubAgentCalls: false,
      })

const emptyManifest: Manifest = {
  tokensMax: 0,
  tokens: 0,
  parts: {},
  messages: null,
  summary: null,
  workspace: null,
}

function openedEvent(
  caller: Running,
  plan: Plan,
  grant: Opened['grant'],
  deadline: number,
  notices: Notices | null,
): Opened {
  const { context, request } = plan
  return {
    type: 'call.opened',
    session: caller.row.session,
    turn: caller.row.id,
    call: plan.call,
    key: plan.key,
    flow: caller.row.flow,
    target: plan.target.session,
    tool: request.tool,
    task: request.task,
    taskHash: plan.taskHash,
    input: request.input ?? null,
    background: request.background,
    outputSchema: request.outputSchema ?? null,
    requested: plan.requested,
    deadline,
    grant,
    context: isRefusal(context) ? emptyManifest : context.manifest,
    attachment: request.attachment,
    ...(plan.boundary === null ? {} : { boundary: plan.boundary }),
    ...(notices === null ? {} : { notices }),
  }
}

/** A refused task may be huge; its start says which it was. */
const taskShownMax = 2000

/** The call as it was asked for, for the record; what took effect is in the grant. */
function requestedOf(request: CallRequest): Json {
  const { maxContextTokens, timeoutMs, maxIterations, maxTokens, allowedTools, nested, context } = request
  return JSON.parse(
    JSON.stringify({ maxContextTokens, timeoutMs, maxIterations, maxTokens, allowedTools, nested, context }),
  ) as Json
}

function refusedEvent(caller: Running, plan: Plan, refusal: Refusal): EventOf<'call.refused'> {
  return {
    type: 'call.refused',
    session: caller.row.session,
    turn: caller.row.id,
    call: plan.call,
    key: plan.key,
    tool: plan.request.tool,
    agent: plan.target.name,
    task: preview(plan.request.task, taskShownMax),
    taskHash: plan.taskHash,
    requested: plan.requested,
    ...(plan.boundary === null ? {} : { boundary: plan.boundary }),
    refusal,
  }
}

export function refusedResult(caller: Running, call: CallId, agent: string, refusal: Refusal): CallResult {
  return {
    call,
    agent,
    outcome: 'refused',
    output: '',
    truncated: false,
    errors: [explain(refusal)],
    toolCalls: [],
    tokensUsed: 0,
    durationMs: 0,
    iterations: 0,
    path: [...caller.row.grant.path.map((hop) => hop.agent), agent],
    refusal,
  }
}
