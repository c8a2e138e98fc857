/**
 * May a call open, with what grant, and how does it end? Pure functions over facts; the runtime reads the
 * facts and records the answer in one transaction (R1).
 *
 * The rules of `openCall` are checked in this order, and the first that says no is the refusal:
 *  1. the caller's turn is live and its own call still pending    call_ended
 *  2. the caller may call at all, and this target                 not_allowed, tool_disabled
 *  3. the target exists, can be run and held   agent_unknown, project_untrusted, session_unknown,
 *                                              agent_unavailable, cannot_restrict
 *  4. sizes                                                       too_large
 *  5. neither itself nor anybody on its own path (R5)             self_call, call_cycle
 *  6. depth (R7)                                                  call_too_deep
 *  7. not its own task, word for word                             task_repeated
 *  8. no ring of waits across roots (R5)                          call_deadlock
 *  9. bounds (R11)                                                too_many_calls, too_many_descendants,
 *                                                                 rate_limited, queue_full
 * 10. what the child receives fits (R8)                           context_too_large; bad_input for a path
 *                                                                 outside or an unusable output_schema
 * 11. tokens and money (R7), also of the day                      budget_exhausted
 */
import { mayCallAgent, type Agent } from './agent.ts'
import { shrink } from './authority.ts'
import { splitAddress } from './client-address.ts'
import { refuseDay, type DayBudget } from './day-budget.ts'
import type { Grant, Hop } from './event.ts'
import type { OpenFacts } from './facts.ts'
import { checkDepth, checkDescendants, checkNested, checkQueue, checkRate } from './hop.ts'
import { checkRunning, deadlinePassed } from './hop.ts'
import type { Millis, SessionId } from './id.ts'
import {
  iterationsDefault,
  iterationsMax,
  subagentDepthMax,
  subagentIterationsDefault,
  subagentIterationsMax,
  type BoundBy,
  type Limits,
} from './limits.ts'
import { type Refusal, agentUnknown, isRefusal } from './refusal.ts'
import { callMsMax } from './time-limits.ts'
import type { UntrustedProject } from './untrusted.ts'
import { byteLength } from './text.ts'
import { leastMoney, reserveMoney } from './money-budget.ts'
import { reserveTokens } from './token-budget.ts'

export type OpenRequest = {
  tool: 'sub_agent' | 'subagent' | 'call_agent'
  /** The name as it was given, for refusals. */
  targetName: string
  /** Whether a session was named, rather than an agent. */
  bySession: boolean
  /** Undefined where no such agent is known. */
  targetAgent: Agent | undefined
  /** The session that will be called: a fresh one, or an existing one. */
  session: SessionId
  fresh: boolean
  task: string
  taskHash: string
  allowedTools: readonly string[] | null
  nested: boolean
  timeoutMs: number
  /** What `timeoutMs` comes from; what was asked for, unless given. */
  timeoutBy?: BoundBy
  maxIterations: number | undefined
  maxTokens: number | undefined
  /** In dollars. */
  maxUsd?: number | undefined
  background: boolean
  /** What building the context said: its tokens, or why it cannot be built. */
  context: { tokens: number } | Refusal
}

export type OpenWorld = {
  callerAgent: Agent
  knownAgents: readonly string[]
  untrusted?: readonly UntrustedProject[] | undefined
  limits: Limits
  now: Millis
  /** The task that started the caller's turn. */
  callerTaskHash: string | null
  /** Why the target cannot be run at all at present. */
  unavailable?: { why: string; cure: string } | null
  /** What may be spent today, where that is limited. */
  day?: DayBudget | null
  /** Why a ceiling of tools cannot be kept for the target. */
  unrestricted?: { why: string; cure: string } | null
}

export type OpenDecision = { grant: Grant; deadline: Millis; boundBy: BoundBy } | Refusal

/** The shortest deadline that leaves the caller time to use a partial result. */
export const effectiveTimeoutMs = (requestedMs: number, callerLeftMs: number, callMsMax: number): number =>
  Math.floor(Math.min(requestedMs, callMsMax, callerLeftMs - Math.min(2000, callerLeftMs * 0.05)))

export function openCall(request: OpenRequest, facts: OpenFacts, world: OpenWorld): OpenDecision {
  return (
    liveness(facts, world) ??
    permission(request, facts, world) ??
    existence(request, facts, world) ??
    availability(request, facts, world) ??
    sizes(request, world) ??
    cycles(request, facts) ??
    depths(request, facts, world) ??
    repetition(request, facts, world) ??
    deadlock(request, facts) ??
    bounds(request, facts, world) ??
    (isRefusal(request.context) ? request.context : null) ??
    refuseDay(world.day ?? null) ??
    grantCall(request, facts, world)
  )
}

/** R3, R6: a turn calls out only while somebody still waits for it. */
function liveness({ caller: { turn } }: OpenFacts, { now }: OpenWorld): Refusal | null {
  const stopped = checkRunning(turn)
  if (stopped !== null) return stopped
  if (turn.call?.pending === false) {
    const why = `the call that started your turn ended (${turn.call.outcome ?? 'unknown'})`
    return { code: 'call_ended', why }
  }
  return callerDeadline(turn) <= now ? { code: 'call_ended', why: deadlinePassed } : null
}

const callerDeadline = (turn: OpenFacts['caller']['turn']): Millis =>
  turn.call === null ? turn.deadline : Math.min(turn.deadline, turn.call.deadline)

function permission(
  { tool, targetAgent, targetName }: OpenRequest,
  { caller: { turn } }: OpenFacts,
  { callerAgent }: OpenWorld,
): Refusal | null {
  const nested = checkNested(turn, tool)
  if (nested !== null) return nested
  const agent = callerAgent.name
  if (!callerAgent.allowSubAgentCalls)
    return { code: 'not_allowed', agent, what: 'call other agents', allowed: [] }
  const target = targetAgent?.name ?? targetName
  // `subagent` without a configured agent runs the caller's own definition, which needs no permission.
  if (tool === 'subagent' && target === agent) return null
  return mayCallAgent(callerAgent, targetAgent ?? { name: target })
    ? null
    : { code: 'not_allowed', agent, what: `call ${target}`, allowed: callerAgent.mayCall ?? [] }
}

function existence(
  request: OpenRequest,
  { target }: OpenFacts,
  { knownAgents, callerAgent, untrusted }: OpenWorld,
): Refusal | null {
  const unknown: Refusal = { code: 'session_unknown', session: request.session }
  const session = target?.session ?? null
  if (request.bySession && session === null) return unknown
  if (request.bySession && session?.kind === 'external') return notAnswering(callerAgent, session.id)
  if (request.targetAgent === undefined && splitAddress(request.targetName) !== null)
    return notAnswering(callerAgent, request.targetName)
  if (request.targetAgent === undefined) return agentUnknown(request.targetName, knownAgents, untrusted)
  if (request.fresh) return null
  return session?.kind === 'persistent' && session.archived !== 'deleted' ? null : unknown
}

/** A client, by its session or its address: it takes mail, and no calls. */
const notAnswering = ({ name }: Agent, target: string): Refusal => ({
  code: 'not_allowed',
  agent: name,
  what: `call ${target}: a program outside runs that session, and answers nobody who waits`,
  allowed: ['to write to it instead, which waits in its inbox'],
})

/** It could not even begin, or could not be held to what the call allows. */
function availability(
  { targetAgent, targetName, allowedTools }: OpenRequest,
  { caller: { turn } }: OpenFacts,
  { unavailable, unrestricted }: OpenWorld,
): Refusal | null {
  const agent = targetAgent?.title ?? targetName
  if (unavailable != null) return { code: 'agent_unavailable', agent, ...unavailable }
  const isRestricted = allowedTools !== null || turn.grant.authority.tools !== null
  return isRestricted && unrestricted != null
    ? { code: 'cannot_restrict', what: 'allowed_tools', ...unrestricted, agent }
    : null
}

function sizes(request: OpenRequest, { limits }: OpenWorld): Refusal | null {
  const bytes = byteLength(request.task)
  return bytes > limits.taskBytesMax
    ? { code: 'too_large', field: 'task', bytes, bytesMax: limits.taskBytesMax }
    : null
}

function cycles(request: OpenRequest, { caller: { turn } }: OpenFacts): Refusal | null {
  const target = request.targetAgent?.name ?? request.targetName
  const path = turn.grant.path
  const hop: Hop = { session: request.session, agent: target }
  const onPath = path.some(
    (at) => at.session === request.session || (request.tool !== 'subagent' && at.agent === target),
  )
  if (!onPath) return null
  if (path.at(-1)?.agent === target || turn.session === request.session)
    return { code: 'self_call', agent: target }
  return { code: 'call_cycle', path: [...path, hop].map((at) => at.agent) }
}

/** R7: within the server's, the caller's and the tool's own limit. */
function depths(
  { tool }: OpenRequest,
  { caller: { turn } }: OpenFacts,
  { callerAgent, limits }: OpenWorld,
): Refusal | null {
  const depth = turn.grant.depth + 1
  return (
    checkDepth(depth, limits.depthMax, 'the server') ??
    checkDepth(depth, callerAgent.maxDepth, callerAgent.name) ??
    (tool === 'subagent' ? checkDepth(turn.grant.subagentDepth + 1, subagentDepthMax, tool) : null)
  )
}

function repetition(
  request: OpenRequest,
  { caller: { turn } }: OpenFacts,
  { callerTaskHash }: OpenWorld,
): Refusal | null {
  const handedOn = turn.call !== null && callerTaskHash === request.taskHash
  return handedOn ? { code: 'task_repeated', agent: request.targetName } : null
}

function deadlock(request: OpenRequest, { caller, target }: OpenFacts): Refusal | null {
  if (request.background || target === null || target.waitPath === null) return null
  return {
    code: 'call_deadlock',
    path: [{ session: caller.session.id, agent: caller.session.agent }, ...target.waitPath].map(
      ({ agent, session }) => `${agent} (${session})`,
    ),
  }
}

function bounds(request: OpenRequest, facts: OpenFacts, { limits, now }: OpenWorld): Refusal | null {
  const rate = { count: facts.callsLastMinute, perMinute: limits.callsPerMinute }
  if (!request.background && facts.openCalls >= limits.callsPerCallerMax)
    return { code: 'too_many_calls', open: facts.openCalls, openMax: limits.callsPerCallerMax }
  return (
    (request.fresh ? checkDescendants(facts.descendants, limits) : null) ??
    checkRate('calls', rate, facts.oldestCallAt, now) ??
    (facts.target === null
      ? null
      : checkQueue(request.session, facts.target.queued, limits.queuedPerSessionMax))
  )
}

/** R7: everything of the callee lies within its caller's. */
function grantCall(
  request: OpenRequest,
  { caller: { session, turn } }: OpenFacts,
  { limits, now }: OpenWorld,
): OpenDecision {
  const target = request.targetAgent as Agent
  const contextTokens = isRefusal(request.context) ? 0 : request.context.tokens
  const left =
    turn.grant.tokensMax === null ? null : turn.grant.tokensMax - turn.tokensUsed - turn.tokensBelow
  const needed = Math.max(1, contextTokens)
  const isAlone = session.kind === 'external'
  const tokensMax = reserveTokens(request.maxTokens ?? target.limits.maxTokens, left, needed, isAlone)
  if (tokensMax !== null && tokensMax < needed) return { code: 'budget_exhausted', needed, left: tokensMax }
  const money = reserveMoney(turn, leastMoney(request.maxUsd, target.limits.maxUsd), isAlone)
  if (isRefusal(money)) return money
  const leftMs = callerDeadline(turn) - now
  const msMax = callMsMax(request.tool, target, limits)
  const timeoutMs = effectiveTimeoutMs(request.timeoutMs, leftMs, msMax)
  const boundBy =
    timeoutMs >= Math.floor(request.timeoutMs)
      ? (request.timeoutBy ?? 'request')
      : timeoutMs >= msMax
        ? 'ceiling'
        : 'caller'
  const grant: Grant = {
    agent: target.name,
    depth: turn.grant.depth + 1,
    subagentDepth: turn.grant.subagentDepth + (request.tool === 'subagent' ? 1 : 0),
    path: [...turn.grant.path, { session: request.session, agent: target.name }],
    authority: shrink(turn.grant.authority, request.allowedTools, request.nested),
    tokensMax,
    ...money,
    maxIterations: iterations(request, target),
  }
  return { grant, deadline: now + Math.max(0, timeoutMs), boundBy }
}

function iterations(request: OpenRequest, target: Agent): number {
  if (request.tool === 'subagent')
    return Math.min(request.maxIterations ?? subagentIterationsDefault, subagentIterationsMax)
  return Math.min(
    request.maxIterations ?? target.limits.maxIterations ?? iterationsDefault,
    target.limits.maxIterations ?? iterationsMax,
    iterationsMax,
  )
}
