/**
 * What may become of a call, decided from what its caller asked and from the ledger: the codes of the refusals
 * that are right, or `open`. The order of the rules is the one that README and `src/model/call.ts` promise. Where
 * the ledger cannot know exactly (a clock that was set, the words of a frame), both answers are right.
 */
import type { SessionId } from '../../src/model/id.ts'
import type { Limits } from '../../src/model/limits.ts'
import { getMainSession, nameAgent } from '../agents.ts'
import type { Ledger, LedgerTurn } from '../ledger.ts'
import type { CallAct } from '../plan.ts'
import { boundContext, type Bounds } from './bound-context.ts'
import type { Facts, KnownAgent } from './facts.ts'

export type CallAsk = { act: CallAct; task: string }
type Holds = 'yes' | 'no' | 'maybe'
type Rule = readonly [code: string, holds: Holds]

export type Judged = {
  ledger: Ledger
  facts: Facts
  limits: Limits
  parent: LedgerTurn
  ask: CallAsk
  at: number
  /** What the driver says it has used, where the log does not have all of it yet. */
  spent: number
}

const subagentHopsMax = 1
const minuteMs = 60_000
/** A transaction has the time of its beginning. */
export const decidedMs = 20

export type Target = { name: string; session: SessionId | null; bySession: boolean }

/** `session` is null where the call makes one. */
export function findTarget({ act }: CallAsk, caller: string): Target {
  if (act.tool === 'subagent') return { name: caller, session: null, bySession: false }
  if (act.tool === 'sub_agent')
    return { name: nameAgent(Math.max(0, act.agent)), session: null, bySession: false }
  const bySession = act.agent < 0
  const name = nameAgent(bySession ? -act.agent - 1 : act.agent)
  return { name, session: getMainSession(name), bySession }
}

/** The first rule that holds decides; one that may hold is right, and so is what comes after it. */
export function judgeCall(judged: Judged): Set<string> {
  const right = new Set<string>()
  for (const list of [listPermissions, listPlaces, listBounds, listSizes])
    for (const [code, holds] of list(judged)) {
      if (holds === 'no') continue
      right.add(code)
      if (holds === 'yes') return right
    }
  return right.add('open')
}

const when = (condition: boolean): Holds => (condition ? 'yes' : 'no')

function* listPermissions({ ledger, facts, parent, ask, at }: Judged): Generator<Rule> {
  const { tool } = ask.act
  const caller = facts.agent(parent.grant.agent)
  const { authority } = parent.grant
  const isListed = matches(caller?.tools ?? ['note'], tool)
  yield ['tool_disabled', when(!isListed || (authority.tools !== null && !matches(authority.tools, tool)))]
  yield ['call_ended', isOver(ledger, parent, at)]
  yield ['tool_disabled', when(!authority.nested)]
  yield ['not_allowed', when(!mayCall(caller, parent.grant.agent, ask))]
}

const matches = (patterns: readonly string[], tool: string): boolean =>
  patterns.some((one) => one === tool || (one.endsWith('*') && tool.startsWith(one.slice(0, -1))))

function mayCall(caller: KnownAgent | undefined, name: string, ask: CallAsk): boolean {
  if (caller === undefined || !caller.calls) return false
  if (ask.act.tool === 'subagent' || caller.mayCall === null) return true
  return caller.mayCall.includes(findTarget(ask, name).name)
}

/** Nobody waits for the caller any more. */
function isOver({ jumps }: Ledger, parent: LedgerTurn, at: number): Holds {
  if (parent.stopping || (parent.call !== null && !parent.pending)) return 'yes'
  const until = Math.min(parent.deadline, parent.call?.deadline ?? Infinity)
  const slackMs = Math.max(decidedMs, jumps.jumpsMs)
  if (at >= until + slackMs) return 'yes'
  return at + slackMs >= until ? 'maybe' : 'no'
}

function* listPlaces({ ledger, facts, limits, parent, ask }: Judged): Generator<Rule> {
  const { name, session, bySession } = findTarget(ask, parent.grant.agent)
  const isThere = session === null || (facts.sessions.has(session) && !facts.deleted.has(session))
  if (bySession) yield ['session_unknown', when(session !== null && !facts.sessions.has(session))]
  yield ['agent_unknown', when(facts.agent(name) === undefined)]
  yield ['session_unknown', when(!isThere)]
  const { path, depth, subagentDepth } = parent.grant
  const isMe = path.at(-1)?.agent === name || parent.session === session
  const isOnPath = path.some(
    (hop) => hop.session === session || (ask.act.tool !== 'subagent' && hop.agent === name),
  )
  yield ['self_call', when(isOnPath && isMe)]
  yield ['call_cycle', when(isOnPath)]
  const isTooDeep =
    depth + 1 > Math.min(limits.depthMax, facts.agent(parent.grant.agent)?.depthMax ?? 0) ||
    (ask.act.tool === 'subagent' && subagentDepth + 1 > subagentHopsMax)
  yield ['call_too_deep', when(isTooDeep)]
  yield ['task_repeated', when(parent.call !== null && parent.task === ask.task)]
  if (session !== null && ask.act.background !== true)
    yield ['call_deadlock', reaches(ledger, session, parent.session)]
}

/** Whether one session waits for another, along calls that block and waits for calls. */
function reaches(ledger: Ledger, from: SessionId, to: SessionId): Holds {
  const seen = new Map<SessionId, Holds>([[from, 'yes']])
  const stack = [from]
  for (let session = stack.pop(); session !== undefined; session = stack.pop()) {
    const sure = seen.get(session) ?? 'no'
    for (const [next, holds] of listWaits(ledger, session)) {
      const now = sure === 'yes' && holds === 'yes' ? 'yes' : 'maybe'
      if (seen.get(next) === 'yes' || seen.get(next) === now) continue
      seen.set(next, now)
      stack.push(next)
    }
  }
  return seen.get(to) ?? 'no'
}

function* listWaits(ledger: Ledger, session: SessionId): Generator<[SessionId, Holds]> {
  for (const turn of ledger.listPending(session))
    if (turn.call?.background === false) yield [turn.session, 'yes']
  for (const { turn, target, isOver } of ledger.waits)
    if (turn.session === session) yield [target, isOver ? 'maybe' : 'yes']
}

function* listBounds({ ledger, limits, parent, ask, at }: Judged): Generator<Rule> {
  const { session } = findTarget(ask, parent.grant.agent)
  const open = [...ledger.listPending(parent.session)].filter(({ call }) => call?.background === false)
  if (ask.act.background !== true) yield ['too_many_calls', when(open.length >= limits.callsPerCallerMax)]
  const flow = ledger.flow(parent.flow)
  if (session === null) yield ['too_many_descendants', when(flow.made >= limits.descendantsPerFlowMax)]
  const { jumpsMs } = ledger.jumps
  const countSince = (since: number): number => flow.callTimes.filter((opened) => opened > since).length
  const isFull = (slackMs: number): boolean => countSince(at - minuteMs + slackMs) >= limits.callsPerMinute
  yield ['rate_limited', isFull(jumpsMs + decidedMs) ? 'yes' : isFull(-jumpsMs) ? 'maybe' : 'no']
  if (session !== null) yield ['queue_full', when(ledger.countQueued(session) >= limits.queuedPerSessionMax)]
}

function* listSizes(judged: Judged): Generator<Rule> {
  const { facts, parent, ask, limits } = judged
  const { name, session, bySession } = findTarget(ask, parent.grant.agent)
  const context: Bounds = bySession
    ? { least: 0, most: 0 }
    : boundContext(facts.agent(name)?.prompt ?? '', ask)
  const max = ask.act.maxContext ?? limits.contextTokens
  if (session === null)
    yield ['context_too_large', context.least > max ? 'yes' : context.most > max ? 'maybe' : 'no']
  // Messages are passed only as far as there is room for them.
  const passed = session === null && ask.act.lastMessages !== undefined ? max : context.most
  const needed = { least: Math.max(1, context.least), most: Math.max(1, context.most, passed) }
  yield ['budget_exhausted', isTooDear(judged, needed)]
}

function isTooDear(judged: Judged, { least, most }: Bounds): Holds {
  const [rich, poor] = boundTokens(judged, least, most)
  if (rich !== null && rich < least) return 'yes'
  if (poor !== null && poor < most) return 'maybe'
  const { grant, used, children } = judged.parent
  // Prices are not known here; without anything spent there is money (`laws-money.ts` bounds what is reserved).
  return grant.nanoUsdMax !== undefined && (used > 0 || children.length > 0) ? 'maybe' : 'no'
}

/** What a call may reserve: at most and at least, by what is known of its caller's spending. Null is no limit. */
export function boundTokens(
  { ledger, parent, ask, spent }: Judged,
  least: number,
  most: number,
): [most: number | null, least: number | null] {
  const max = parent.grant.tokensMax
  const wanted = ask.act.maxTokens
  if (max === null) return [wanted ?? null, wanted ?? null]
  const isClient = ledger.sessions.get(parent.session)?.kind === 'external'
  const reserve = (used: number, needed: number): number => {
    const left = max - used - ledger.below(parent)
    const share = isClient ? left : Math.ceil(left / 2)
    return Math.max(0, Math.min(left, wanted ?? Math.max(share, needed)))
  }
  return [reserve(Math.min(parent.used, spent), most), reserve(Math.max(parent.used, spent), least)]
}
