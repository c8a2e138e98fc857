/**
 * May a message be sent, and with what grant does its turn run? Pure; the runtime reads the facts and records
 * the answer in one transaction (R1).
 *
 * The rules are checked in this order, and the first that says no is the refusal:
 *  1. the sender's turn is live, unless a person releases it      call_ended
 *  2. the target exists, and takes this: a turn or mail    session_unknown, agent_unknown, project_untrusted
 *  3. not to itself                                               self_call
 *  4. the sender may send at all, and to this agent; it may       tool_disabled, not_allowed
 *     always send to its maker, and answer what was sent to it
 *  5. depth: a hop like a call's, but not to its maker (R7)       call_too_deep
 *  6. not its own task, word for word                             task_repeated
 *  7. bounds (R11)                                                flow_expired, rate_limited,
 *                                                                 too_many_descendants, queue_full
 *  8. not now, if it must be now                                  session_busy
 *  9. tokens and money (R7), also of the day                      budget_exhausted
 */
import { mayCallAgent, type Agent } from './agent.ts'
import { fullAuthority } from './authority.ts'
import { refuseDay, type DayBudget } from './day-budget.ts'
import type { Grant } from './event.ts'
import type { SendFacts, SessionRow, TurnFacts } from './facts.ts'
import { checkDepth, checkDescendants, checkNested, checkQueue, checkRate } from './hop.ts'
import { checkRunning, deadlinePassed } from './hop.ts'
import type { Millis, SessionId } from './id.ts'
import { inboxMax, iterationsDefault, iterationsMax, type Limits } from './limits.ts'
import { agentUnknown, isRefusal, type Refusal } from './refusal.ts'
import type { UntrustedProject } from './untrusted.ts'
import { grantMoney, leastMoney, reserveMoney } from './money-budget.ts'

export type SendRequest = {
  target: SessionId
  /** Set where the message makes its session. */
  fresh: SessionRow | null
  /** Undefined where the target's agent is not known. */
  targetAgent: Agent | undefined
  /** The external client that sends, where no turn does. */
  client: SessionId | null
  /** Whether it may wait behind a turn that runs. */
  now: boolean
  taskHash: string
  maxTokens: number | undefined
  /** In dollars. */
  maxUsd?: number | undefined
  /** It waits in the inbox, instead of to open a turn. */
  inbox?: boolean
  /** It answers a message that the target wrote to the sender. */
  reply?: boolean
  /** A person sends what the sender drafted: its turn may be over, but its permissions stay. */
  released?: boolean
  /** By which it is sent, for refusals. */
  tool?: string
}

export type SendWorld = {
  senderAgent: Agent | null
  knownAgents: readonly string[]
  untrusted?: readonly UntrustedProject[] | undefined
  limits: Limits
  now: Millis
  /** The task that started the sender's turn. */
  senderTaskHash: string | null
  /** What may be spent today, where that is limited. */
  day?: DayBudget | null
}

export function openMessage(request: SendRequest, facts: SendFacts, world: SendWorld): Grant | Refusal {
  return (
    (request.released === true ? null : liveness(facts, world)) ??
    existence(request, facts, world) ??
    self(request, facts) ??
    permission(request, facts, world) ??
    depths(facts, world) ??
    repetition(request, facts, world) ??
    bounds(request, facts, world) ??
    busy(request, facts) ??
    grant(request, facts, world)
  )
}

const getTarget = (request: SendRequest, facts: SendFacts): SessionRow | null =>
  request.fresh ?? facts.target.session

function liveness({ sender }: SendFacts, { now }: SendWorld): Refusal | null {
  if (sender === null) return null
  const isLate = sender.turn.deadline <= now
  return checkRunning(sender.turn) ?? (isLate ? { code: 'call_ended', why: deadlinePassed } : null)
}

/** One that is not run takes only mail, and one that a call made only while that call is pending. */
function existence(
  request: SendRequest,
  facts: SendFacts,
  { knownAgents, untrusted }: SendWorld,
): Refusal | null {
  const target = getTarget(request, facts)
  if (target === null || target.archived === 'deleted' || !takes(target, request, facts))
    return { code: 'session_unknown', session: request.target }
  return request.targetAgent === undefined ? agentUnknown(target.agent, knownAgents, untrusted) : null
}

function takes({ kind }: SessionRow, { inbox }: SendRequest, { pending }: SendFacts): boolean {
  return kind === 'persistent' || (inbox === true && (kind === 'external' || pending === true))
}

function self(request: SendRequest, { sender }: SendFacts): Refusal | null {
  const from = sender?.session.id ?? request.client
  return from === request.target
    ? { code: 'self_call', agent: sender?.session.agent ?? request.target }
    : null
}

function permission(
  {
    targetAgent,
    tool = 'send_agent_message',
    reply = false,
  }: Pick<SendRequest, 'targetAgent' | 'tool' | 'reply'>,
  { sender, callback }: SendFacts,
  { senderAgent }: SendWorld,
): Refusal | null {
  if (senderAgent === null || callback || reply) return null
  const nested = sender === null ? null : checkNested(sender.turn, tool)
  if (nested !== null) return nested
  const agent = senderAgent.name
  if (!senderAgent.allowSubAgentCalls)
    return { code: 'not_allowed', agent, what: 'write to other agents', allowed: [] }
  return targetAgent === undefined || mayCallAgent(senderAgent, targetAgent)
    ? null
    : { code: 'not_allowed', agent, what: `write to ${targetAgent.name}`, allowed: senderAgent.mayCall ?? [] }
}

/** A user's own turn is 0; a client outside is like one, so what it sends is 1. */
function countHops({ sender, callback }: SendFacts, client: SessionId | null): number {
  if (sender === null) return client === null ? 0 : 1
  return sender.turn.grant.depth + (callback ? 0 : 1)
}

function depths(facts: SendFacts, { senderAgent, limits }: SendWorld): Refusal | null {
  if (facts.callback || facts.sender === null) return null
  const depth = countHops(facts, null)
  return (
    checkDepth(depth, limits.depthMax, 'the server') ??
    (senderAgent === null
      ? null
      : checkDepth(depth, senderAgent.maxDepth ?? limits.depthMax, senderAgent.name))
  )
}

function repetition(
  request: SendRequest,
  { sender, callback }: SendFacts,
  { senderTaskHash }: SendWorld,
): Refusal | null {
  if (sender === null || callback || senderTaskHash !== request.taskHash || sender.turn.call === null)
    return null
  return { code: 'task_repeated', agent: request.targetAgent?.title ?? request.targetAgent?.name ?? '' }
}

function bounds(request: SendRequest, facts: SendFacts, { limits, now }: SendWorld): Refusal | null {
  if (facts.sender !== null && request.released !== true) {
    const ageSeconds = Math.floor((now - facts.flowStartedAt) / 1000)
    if (ageSeconds > limits.messageAgeSeconds)
      return { code: 'flow_expired', ageSeconds, ageSecondsMax: limits.messageAgeSeconds }
    const rate = { count: facts.messagesLastMinute, perMinute: limits.messagesPerMinute }
    const refused =
      checkRate('messages', rate, facts.oldestMessageAt, now) ??
      (request.fresh === null ? null : checkDescendants(facts.descendants, limits))
    if (refused !== null) return refused
  }
  return request.inbox === true
    ? checkQueue(request.target, facts.waiting ?? 0, inboxMax)
    : checkQueue(request.target, facts.target.queued, limits.queuedPerSessionMax)
}

const busy = (request: SendRequest, { target }: SendFacts): Refusal | null =>
  request.now && (request.inbox === true || target.running !== null || target.next !== null)
    ? { code: 'session_busy', session: request.target }
    : null

/** Nobody blocks on a message, so a new path begins; all else is the sender's or less (R7). */
function grant(request: SendRequest, facts: SendFacts, { limits, day }: SendWorld): Grant | Refusal {
  const agent = request.targetAgent as Agent
  const { sender } = facts
  // Nobody runs on what only waits to be fetched.
  const isRun = getTarget(request, facts)?.kind === 'persistent'
  const tokensMax = !isRun
    ? null
    : sender === null || request.released === true
      ? least(request.maxTokens, limits.flowTokensMax, agent.limits.maxTokens)
      : taken(sender, agent)
  if (tokensMax === 0 && sender !== null && request.released !== true)
    return { code: 'budget_exhausted', needed: 1, left: 0 }
  const money = !isRun
    ? {}
    : sender === null || request.released === true
      ? grantMoney(leastMoney(request.maxUsd, limits.flowUsdMax, agent.limits.maxUsd))
      : reserveMoney(sender.turn, leastMoney(agent.limits.maxUsd), isClient(sender))
  const spent = isRun ? refuseDay(day ?? null) : null
  if (isRefusal(money) || spent !== null) return spent ?? (money as Refusal)
  return {
    agent: agent.name,
    depth: countHops(facts, request.client),
    subagentDepth: sender?.turn.grant.subagentDepth ?? 0,
    path: [{ session: request.target, agent: agent.name }],
    authority: sender?.turn.grant.authority ?? fullAuthority,
    tokensMax,
    ...money,
    maxIterations: Math.min(agent.limits.maxIterations ?? iterationsDefault, iterationsMax),
  }
}

function least(...budgets: (number | undefined)[]): number | null {
  const given = budgets.filter((budget) => budget !== undefined)
  return given.length === 0 ? null : Math.floor(Math.min(...given))
}

/** A client's turn asks for one thing only, so that has all of its budget. */
const isClient = ({ session }: TurnFacts): boolean => session.kind === 'external'

/** Half of what the sender has left, or what the agent is configured with, whichever is less. */
function taken(sender: TurnFacts, agent: Agent): number | null {
  const { turn } = sender
  if (turn.grant.tokensMax === null) return agent.limits.maxTokens ?? null
  const left = Math.max(0, turn.grant.tokensMax - turn.tokensUsed - turn.tokensBelow)
  const share = isClient(sender) ? left : Math.ceil(left / 2)
  return Math.min(share, agent.limits.maxTokens ?? Infinity)
}

/** What an agent may spawn, before its first message is judged: the same hop. */
export function openSession(
  request: Pick<SendRequest, 'targetAgent'>,
  name: string,
  facts: SendFacts,
  world: SendWorld,
): Refusal | null {
  if (request.targetAgent === undefined) return agentUnknown(name, world.knownAgents, world.untrusted)
  return (
    liveness(facts, world) ??
    permission(request, facts, world) ??
    depths(facts, world) ??
    (facts.sender === null ? null : checkDescendants(facts.descendants, world.limits))
  )
}
