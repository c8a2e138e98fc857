/**
 * The laws as predicates over the log, checked event by event: each returns what is broken, or null.
 * `before` sees the ledger as it was when the event was decided, `after` as its whole transaction left it.
 */
import type { Event, EventOf } from '../src/model/event.ts'
import { toTurnId, type SessionId } from '../src/model/id.ts'
import type { Limits } from '../src/model/limits.ts'
import { opensTurn } from '../src/model/opening.ts'
import { checkMoney } from './laws-money.ts'
import { checkOpening } from './laws-opening.ts'
import { checkBeginning, checkConserved, checkIdle, decidedMs } from './laws-queue.ts'
import type { Broken, Ledger, LedgerTurn, Written } from './ledger.ts'

export const checkBefore = (ledger: Ledger, event: Event, written: Written, limits: Limits): Broken =>
  checkMoney(ledger, event) ?? checkEvent(ledger, event, written, limits)

function checkEvent(ledger: Ledger, event: Event, written: Written, limits: Limits): Broken {
  switch (event.type) {
    case 'call.opened':
      return checkOwner(ledger, event, written) ?? checkOpening(ledger, event, written, limits)
    case 'step.started':
    case 'step.ended':
    case 'question.asked':
    case 'call.refused':
    case 'wait.started':
    case 'wait.ended':
    case 'turn.suspended':
      return checkOwner(ledger, event, written)
    case 'call.ended':
      return checkEndsOnce(ledger, event, limits)
    case 'turn.started':
      return checkStart(ledger, event) ?? checkBeginning(ledger, event, written, limits)
    case 'session.claimed':
      return checkClaim(ledger, event, written)
    case 'turn.ended':
      return checkTurnEnd(ledger, event, written)
    case 'turn.cancelled':
      return checkCancel(ledger, event)
    case 'message.delivered':
    case 'message.sent':
      return (
        ledger.mail.checkBefore(event) ??
        (opensTurn(event) ? checkQueue(ledger, event.session, limits) : null)
      )
    case 'mail.announced':
    case 'message.released':
    case 'message.accepted':
    case 'message.answered':
    case 'message.declined':
    case 'message.died':
      return ledger.mail.checkBefore(event)
    case 'session.created':
      return ledger.sessions.has(event.session) ? `R1: ${event.session} was created twice` : null
    case 'call.steered':
    case 'session.cancelled':
    case 'session.forked':
    case 'message.drafted':
    case 'message.revised':
    case 'agent.created':
    case 'agent.deleted':
    case 'session.adopted':
    case 'session.renamed':
    case 'session.archived':
    case 'question.answered':
    case 'flow.seen':
    case 'notice.raised':
    case 'session.woken':
    case 'session.opened':
    case 'session.closed':
    case 'session.quieted':
      return null
  }
}

const checkQueue = (ledger: Ledger, session: SessionId, limits: Limits): Broken =>
  ledger.countQueued(session) >= limits.queuedPerSessionMax
    ? `R11: ${session} has more than ${limits.queuedPerSessionMax} inputs waiting`
    : null

/** R6: only the activation that has the turn writes for it. */
function checkOwner(ledger: Ledger, event: Event, { writer }: Written): Broken {
  const turn = ledger.turn(event.turn)
  if (turn.state !== 'running') return `R6: ${event.type} of ${turn.id}, which is ${turn.state}`
  if (turn.quiet.count >= 2)
    return `R11: ${event.type} of ${turn.id}, whose last two runs ended with their process and had recorded nothing`
  if (writer !== null && writer !== turn.node)
    return `R6: ${event.type} of ${turn.id} by ${writer}, but ${turn.node ?? 'nobody'} has it (epoch ${turn.epoch})`
  return null
}

function checkEndsOnce(ledger: Ledger, event: EventOf<'call.ended'>, limits: Limits): Broken {
  const turn = ledger.turns.get(toTurnId(event.call))
  if (turn === undefined) return `R3: ${event.call} ended and was never opened`
  if (!turn.pending)
    return `R3: ${event.call} ended as ${event.outcome} after it had ended as ${turn.outcome ?? 'unknown'}`
  if (Buffer.byteLength(event.output) > limits.resultBytesMax)
    return `R11: the output of ${event.call} is larger than ${limits.resultBytesMax} bytes`
  return null
}

function checkStart(ledger: Ledger, event: EventOf<'turn.started'>): Broken {
  const turn = ledger.turn(event.turn)
  // Nobody activates a session outside: its clients may do several things at once.
  const isOutside = ledger.sessions.get(event.session)?.kind === 'external'
  const other = isOutside ? undefined : ledger.findRunning(event.session)
  if (other !== undefined) return `R6: ${turn.id} starts while ${other.id} runs in ${event.session}`
  if (turn.state !== 'queued') return `R6: ${turn.id} starts a second time`
  return event.epoch > turn.epoch
    ? null
    : `R6: ${turn.id} starts with epoch ${event.epoch} after ${turn.epoch}`
}

function checkClaim(ledger: Ledger, event: EventOf<'session.claimed'>, { at, wall }: Written): Broken {
  const turn = ledger.turn(event.turn)
  if (turn.state !== 'running') return `R6: ${turn.id} is taken over and is ${turn.state}`
  if (event.epoch <= turn.epoch)
    return `R6: ${turn.id} is taken over with epoch ${event.epoch} after ${turn.epoch}`
  const { leases } = ledger
  const until = leases.until(turn.node)
  // A node may always put a new activation of its own in the place of an old one.
  return until > wall && turn.node !== event.node && at - leases.renewedAt(turn.node) > decidedMs
    ? `R6: ${turn.id} is taken from ${turn.node ?? 'nobody'}, whose lease runs for ${until - wall} ms more`
    : null
}

function checkTurnEnd(ledger: Ledger, event: EventOf<'turn.ended'>, { at, wall, writer }: Written): Broken {
  const turn = ledger.turn(event.turn)
  if (turn.state === 'ended') return `R3: ${turn.id} ended twice`
  if (turn.state === 'queued' || writer === null || writer === turn.node) return null
  const until = ledger.leases.until(turn.node)
  return turn.stopping && (until <= wall || at - ledger.leases.renewedAt(turn.node) <= decidedMs)
    ? null
    : `R6: ${turn.id} is ended by ${writer}, but ${turn.node ?? 'nobody'} has it`
}

function checkCancel(ledger: Ledger, event: EventOf<'turn.cancelled'>): Broken {
  const turn = ledger.turn(event.turn)
  return turn.state === 'running' && !turn.stopping
    ? null
    : `R3: ${turn.id} is told to stop and is ${turn.stopping ? 'stopping' : turn.state}`
}

export function checkAfter(ledger: Ledger, written: Written): Broken {
  const { events } = written
  const lost = ledger.mail.checkAfter(events) ?? checkConserved(ledger, written)
  if (lost !== null) return lost
  for (const event of events) {
    const broken =
      event.type === 'call.ended'
        ? checkNothingBelow(ledger.turn(toTurnId(event.call)))
        : event.type === 'turn.ended'
          ? checkNothingBelow(ledger.turn(event.turn))
          : event.type === 'call.opened' && !event.background
            ? checkNoRing(ledger, event.session, event.target)
            : event.type === 'wait.started'
              ? checkNoRing(ledger, event.session, event.target)
              : null
    if (broken !== null) return broken
  }
  return null
}

function checkNothingBelow(turn: LedgerTurn): Broken {
  const left = turn.children.find((child) => child.pending)
  if (left !== undefined)
    return `R3: ${left.call?.id ?? ''} is pending below ${turn.call?.id ?? turn.id}, which has ended`
  return turn.state === 'ended' && turn.pending
    ? `R3: ${turn.call?.id ?? ''} is pending and its turn has ended`
    : null
}

/** R5: whether `from` can be reached from `to` along waits. */
function checkNoRing(ledger: Ledger, from: SessionId, to: SessionId): Broken {
  const seen = new Set<SessionId>([to])
  const stack = [to]
  for (let session = stack.pop(); session !== undefined; session = stack.pop()) {
    if (session === from) return `R5: ${from} waits for ${to}, which waits for ${from}`
    for (const next of listWaitedFor(ledger, session)) {
      if (seen.has(next)) continue
      seen.add(next)
      stack.push(next)
    }
  }
  return null
}

function listWaitedFor(ledger: Ledger, session: SessionId): SessionId[] {
  const calls = [...ledger.listPending(session)]
    .filter((turn) => turn.call?.background === false)
    .map((turn) => turn.session)
  return [
    ...calls,
    ...ledger.waits
      .filter((wait) => wait.turn.session === session && !wait.isOver)
      .map((wait) => wait.target),
  ]
}

/**
 * R4: soon after its deadline a call has ended and a turn has stopped, if a node was well for all of that
 * time.
 */
export function checkOverdue(
  ledger: Ledger,
  now: number,
  wellSince: number,
  slack: { callMs: number; turnMs: number },
): Broken {
  const late = now - ledger.jumps.limitsOffMs
  ledger.now = now
  if (wellSince + slack.callMs >= now) return null
  for (const live of ledger.live.values()) {
    const idle = checkIdle(ledger, live, wellSince, slack.callMs)
    if (idle !== null) return idle
  }
  for (const turn of ledger.pending) {
    const deadline = turn.call?.deadline ?? 0
    if (deadline + slack.callMs < late)
      return `R4: ${turn.call?.id ?? ''} is pending ${now - deadline} ms after its deadline`
  }
  if (wellSince + slack.turnMs >= now) return null
  for (const live of ledger.live.values()) {
    for (const turn of live) {
      const since = Math.max(turn.deadline, turn.begunAt, ledger.leases.lateAt(turn.node))
      if (turn.state === 'running' && since + slack.turnMs < late)
        return `R4: ${turn.id} runs on ${turn.node ?? 'nothing'} ${now - since} ms after its deadline`
    }
  }
  return null
}
