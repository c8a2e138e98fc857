/** What a call asks for, worked out: whom it reaches, in which session, and what the rules are asked. */
import { openCall, type OpenDecision, type OpenRequest } from '../../model/call.ts'
import type { Manifest } from '../../model/context.ts'
import { externalAgent, isDriven, isMadeName, type Agent } from '../../model/agent.ts'
import { callMsDefault } from '../../model/time-limits.ts'
import type { EventOf } from '../../model/event.ts'
import type { OpenFacts, SessionRow } from '../../model/facts.ts'
import type { Boundary } from '../../model/frame.ts'
import { type CallId, type Millis, type SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import { type BuiltContext } from '../turns/context.ts'
import type { Runtime } from './runtime.ts'
import { hasFallback } from '../turns/fallback.ts'
import { readDayBudget } from '../kernel/day-spending.ts'
import { deadlineNow } from '../kernel/kept-time.ts'
import { newSession } from '../kernel/new-session.ts'
import { findAgent, findMain, resolveAgent } from '../kernel/projects-port.ts'
import type { CallRequest } from '../kernel/ports.ts'
import { type Running } from '../kernel/running.ts'

type Target = {
  agent: Agent | undefined
  name: string
  session: SessionId
  fresh: boolean
  makeMain: boolean
}

export type Plan = {
  call: CallId
  key: string
  target: Target
  request: CallRequest
  requested: Json
  taskHash: string
  boundary: Boundary
  context: BuiltContext | Refusal
  /** Besides those of the context. */
  notes: readonly string[]
}

export type Opened = EventOf<'call.opened'>

/**
 * An agent by name gets a fresh session with the call's own suffix; `call_agent` speaks to the agent's main
 * session, made at first use.
 */
export function resolveTarget(
  runtime: Runtime,
  caller: Running,
  request: CallRequest,
  suffix: string,
): Target {
  if ('session' in request.target)
    return {
      agent: undefined,
      name: request.target.session,
      session: request.target.session,
      fresh: false,
      makeMain: false,
    }
  const name = request.tool === 'subagent' ? (runtime.subagent ?? caller.agent.name) : request.target.agent
  const agent = resolveAgent(runtime.agents, name)
  if (request.tool === 'call_agent')
    return {
      agent,
      name: agent?.name ?? name,
      session: findMain(runtime.agents, agent?.name ?? name, caller.session.cwd).session,
      fresh: false,
      makeMain: true,
    }
  return { agent, name: agent?.name ?? name, session: `ses_${suffix}`, fresh: true, makeMain: false }
}

export const judge = (
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
        turn: {
          ...caller.row,
          ...readChanges(runtime, facts),
          tokensUsed: caller.tokensUsed,
          spent: caller.spent,
        },
        session: caller.session,
      },
    },
    {
      callerAgent: findCallerAgent(runtime, caller, facts),
      knownAgents: runtime.agents.names(),
      untrusted: runtime.agents.untrusted?.(),
      limits: runtime.limits,
      // Only a replay has it among the facts. It only grows, and each request is held to it again.
      day: facts.day ?? readDayBudget(runtime, session?.cwd ?? caller.session.cwd),
      ...readHindrances(runtime, plan, session),
      now,
      callerTaskHash: caller.input.type === 'call.opened' ? caller.input.taskHash : null,
    },
  )

/** What is known beforehand: a program or a key that is not there, and what a driver cannot enforce. */
function readHindrances(runtime: Runtime, { target }: Plan, session: SessionRow | null) {
  const agent = findTargetAgent(runtime, target, session)
  if (agent === undefined) return {}
  return {
    unavailable: hasFallback(runtime, agent) ? null : (runtime.agents.whyUnavailable?.(agent) ?? null),
    unrestricted: isDriven(agent) ? (runtime.agents.whyUnrestricted?.(agent) ?? null) : null,
  }
}

/** What was fixed when the caller's turn opened is in memory; the rest comes from the facts. */
const readChanges = (runtime: Runtime, { caller: { turn } }: OpenFacts) => ({
  state: turn.state,
  stopping: turn.stopping,
  tokensBelow: turn.tokensBelow,
  nanoUsdBelow: turn.nanoUsdBelow,
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
export function findSession(
  runtime: Pick<Runtime, 'agents'>,
  caller: Running,
  target: Target,
  facts: OpenFacts,
  now: Millis,
): SessionRow | null {
  if (!target.fresh && (facts.target?.session != null || !target.makeMain))
    return facts.target?.session ?? null
  const { cwd } = caller.session
  if (target.fresh)
    return newSession(
      { agent: target.name, cwd, parent: caller.row.session },
      target.session,
      now,
      'ephemeral',
    )
  const main = findMain(runtime.agents, target.name, cwd)
  return newSession({ agent: main.agent, cwd: main.cwd, title: main.agent }, target.session, now)
}

const withTarget = (facts: OpenFacts, target: Target, session: SessionRow | null): OpenFacts =>
  target.fresh || facts.target === null ? facts : { ...facts, target: { ...facts.target, session } }

/** A name that reaches nobody from here reaches nobody, whatever a session of that name would be. */
const findTargetAgent = (runtime: Runtime, target: Target, session: SessionRow | null): Agent | undefined =>
  target.fresh || target.makeMain || session === null ? target.agent : findAgent(runtime, session)

function openRequest(
  runtime: Runtime,
  { target, request, taskHash, context }: Plan,
  session: SessionRow | null,
): OpenRequest {
  const agent = findTargetAgent(runtime, target, session)
  const limitMs = agent?.limits.timeoutSeconds === undefined ? Infinity : agent.limits.timeoutSeconds * 1000
  const askedMs = request.timeoutMs ?? callMsDefault(request.tool, agent, runtime.limits)
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
    timeoutMs: Math.min(askedMs, limitMs),
    timeoutBy: limitMs < askedMs ? 'callee' : request.timeoutMs === undefined ? 'default' : 'request',
    maxIterations: request.maxIterations,
    maxTokens: request.maxTokens,
    maxUsd: request.maxUsd,
    background: request.background,
    context: isRefusal(context) ? context : { tokens: context.manifest.tokens },
  }
}

/** A running turn keeps the definition that it started with, unless its agent was deleted meanwhile. */
function findCallerAgent(runtime: Runtime, caller: Running, facts: OpenFacts): Agent {
  const { agent: name } = facts.caller.turn.grant
  if (name === externalAgent.name) return externalAgent
  if (runtime.projects !== undefined && !isMadeName(name)) return caller.agent
  return runtime.agents.get(name) ?? { ...externalAgent, name, allowSubAgentCalls: false }
}

/** For a call that passes nothing of its caller's conversation. */
export const noContext = (): BuiltContext => ({ manifest: emptyManifest, notes: [], attachment: null })

export const emptyManifest: Manifest = {
  tokensMax: 0,
  tokens: 0,
  parts: {},
  messages: null,
  summary: null,
  workspace: null,
}

/** The call as it was asked for, for the record; what took effect is in the grant. */
export function describeRequest(request: CallRequest): Json {
  const { maxContextTokens, timeoutMs, maxIterations, maxTokens, maxUsd, allowedTools, nested, context } =
    request
  const asked = {
    maxContextTokens,
    timeoutMs,
    maxIterations,
    maxTokens,
    maxUsd,
    allowedTools,
    nested,
    // Its own fields may be left out too, and a list of it is somebody else's.
    context: context === null ? null : (JSON.parse(JSON.stringify(context)) as Json),
  }
  const given: { [name: string]: Json } = {}
  for (const [name, value] of Object.entries(asked)) if (value !== undefined) given[name] = value as Json
  return given
}
