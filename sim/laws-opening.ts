/** The laws that a call has to satisfy when it opens. */
import { mayCallAgent } from '../src/model/agent.ts'
import type { Authority } from '../src/model/authority.ts'
import type { EventOf } from '../src/model/event.ts'
import type { Limits } from '../src/model/limits.ts'
import { countWords } from './count-words.ts'
import type { Broken, Ledger, LedgerTurn, Written } from './ledger.ts'

type Opened = EventOf<'call.opened'>

export function checkOpening(ledger: Ledger, event: Opened, { at }: Written, limits: Limits): Broken {
  const parent = ledger.turn(event.turn)
  return (
    checkLive(parent, event, at - ledger.jumps.limitsOffMs) ??
    checkPermission(ledger, parent, event) ??
    checkPath(parent, event) ??
    checkOnce(parent, event) ??
    checkShrinks(ledger, parent, event, limits) ??
    checkTokens(ledger, parent, event) ??
    checkBounds(ledger, parent, event, at, limits) ??
    checkContext(ledger, event)
  )
}

/** R6: a turn makes calls only while its own caller waits. */
function checkLive(parent: LedgerTurn, event: Opened, at: number): Broken {
  if (parent.stopping) return `R6: ${event.call} is opened by ${parent.id}, which was told to stop`
  if (parent.call !== null && !parent.pending)
    return `R6: ${event.call} is opened by ${parent.id}, whose own call has ended`
  return at >= getDeadline(parent) ? `R6: ${event.call} is opened by ${parent.id} after its deadline` : null
}

const getDeadline = (turn: LedgerTurn): number => Math.min(turn.deadline, turn.call?.deadline ?? Infinity)

function checkPermission({ agents }: Ledger, parent: LedgerTurn, event: Opened): Broken {
  const caller = agents.get(parent.grant.agent)
  const self =
    event.tool === 'subagent' &&
    event.grant.agent === parent.grant.agent &&
    caller?.allowSubAgentCalls === true
  if (caller === undefined || (!self && !mayCallAgent(caller, { name: event.grant.agent })))
    return `R7: ${parent.grant.agent} may not call ${event.grant.agent}`
  return parent.grant.authority.nested
    ? null
    : `R7: ${parent.id} was called with allow_nested_calls: false and calls`
}

/** R5: no agent is on a path twice. */
function checkPath(parent: LedgerTurn, event: Opened): Broken {
  const sessions = event.grant.path.map((hop) => hop.session)
  const expected = [...parent.grant.path.map((hop) => hop.session), event.target]
  if (sessions.join() !== expected.join())
    return `R5: the path of ${event.call} is ${sessions.join(' -> ')}, not ${expected.join(' -> ')}`
  const repeated = parent.grant.path.some(
    (hop) => hop.session === event.target || (event.tool !== 'subagent' && hop.agent === event.grant.agent),
  )
  return repeated ? `R5: ${event.call} comes back to ${event.grant.agent}` : null
}

/**
 * R10: a turn that is run again takes its recorded calls from the log. The driver never asks twice with the
 * same key.
 */
const checkOnce = (parent: LedgerTurn, event: Opened): Broken =>
  parent.keys.has(event.key) ? `R10: ${parent.id} opens the same call a second time (${event.call})` : null

function checkShrinks(ledger: Ledger, parent: LedgerTurn, event: Opened, limits: Limits): Broken {
  const { agents, jumps } = ledger
  const { grant } = event
  if (grant.depth !== parent.grant.depth + 1)
    return `R7: ${event.call} has depth ${grant.depth} under ${parent.grant.depth}`
  const depthMax = Math.min(limits.depthMax, agents.get(parent.grant.agent)?.maxDepth ?? 0)
  if (grant.depth > depthMax) return `R7: ${event.call} is ${grant.depth} deep, and ${depthMax} are allowed`
  if (event.deadline > getDeadline(parent) + jumps.limitsOffMs)
    return `R7: ${event.call} may run ${event.deadline - getDeadline(parent)} ms longer than its caller`
  if (!isWithin(grant.authority, parent.grant.authority))
    return `R7: ${event.call} has tools or leave that its caller has not`
  return isWithin(grant.authority, readRequested(event))
    ? null
    : `R7: ${event.call} has tools or leave that it was not called with`
}

/** What the call itself allows, as it was asked for. */
function readRequested({ requested }: Opened): Authority {
  const { allowedTools, nested } = requested as { allowedTools: string[] | null; nested: boolean }
  return { tools: allowedTools, nested }
}

function isWithin(child: Authority, parent: Authority): boolean {
  if (child.nested && !parent.nested) return false
  if (parent.tools === null) return true
  const ceiling = parent.tools
  return (
    child.tools !== null &&
    child.tools.every((tool) =>
      ceiling.some((wide) => wide === tool || (wide.endsWith('*') && tool.startsWith(wide.slice(0, -1)))),
    )
  )
}

/** R7: what is reserved, with all that is used and held already, is within the caller's budget. */
function checkTokens(ledger: Ledger, parent: LedgerTurn, event: Opened): Broken {
  const max = parent.grant.tokensMax
  if (max === null) return null
  if (event.grant.tokensMax === null) return `R7: ${event.call} has no budget under one of ${max}`
  const left = max - parent.used - ledger.below(parent)
  return event.grant.tokensMax > Math.max(0, left)
    ? `R7: ${event.call} reserves ${event.grant.tokensMax} tokens and ${left} of ${max} are left`
    : null
}

function checkBounds(ledger: Ledger, parent: LedgerTurn, event: Opened, at: number, limits: Limits): Broken {
  const open = [...ledger.listPending(parent.session)].filter(
    (turn) => turn.call?.background === false,
  ).length
  if (!event.background && open >= limits.callsPerCallerMax)
    return `R11: ${parent.session} opens its ${open + 1}th call`
  const queued = ledger.countQueued(event.target)
  if (queued >= limits.queuedPerSessionMax)
    return `R11: ${event.target} gets its ${queued + 1}th waiting input`
  const flow = ledger.flow(event.flow)
  if (event.tool !== 'call_agent' && flow.made >= limits.descendantsPerFlowMax)
    return `R11: ${event.flow} makes its ${flow.made + 1}th session`
  // A minute of the wall may be shorter than one that passed.
  const lately = flow.callTimes.filter((opened) => opened > at - 60_000 + ledger.jumps.jumpsMs).length
  return lately >= limits.callsPerMinute
    ? `R11: ${event.flow} makes its ${lately + 1}th call within a minute`
    : null
}

/** R8, counted again and not taken from the manifest. */
function checkContext(ledger: Ledger, event: Opened): Broken {
  const { context: manifest, grant } = event
  if (event.tool === 'call_agent') return null
  if (manifest.tokens > manifest.tokensMax)
    return `R8: ${event.call} is given ${manifest.tokens} tokens of ${manifest.tokensMax}`
  const known = ledger.entries.get(event.session)
  const history = (manifest.messages?.passed ?? []).reduce((sum, n) => sum + (known?.get(n) ?? 0), 0)
  const least = countWords(ledger.agents.get(grant.agent)?.prompt ?? '') + countWords(event.task) + history
  return least > manifest.tokens
    ? `R8: ${event.call} is given at least ${least} tokens and its manifest says ${manifest.tokens}`
    : null
}
