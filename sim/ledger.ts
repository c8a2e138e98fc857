/** The checker's own fold of the log, independent of the store's, so that the two can disagree. */
import type { Agent } from '../src/model/agent.ts'
import type { Event, EventOf, Grant, Outcome } from '../src/model/event.ts'
import { toTurnId, type CallId, type NodeId, type SessionId, type TurnId } from '../src/model/id.ts'
import { agents as simulated } from './agents.ts'
import { count } from './count.ts'
import type { Jumps } from './elapsed.ts'
import { getOrMake } from './get-or-make.ts'
import { Leases } from './leases.ts'
import { MailLedger } from './mail-ledger.ts'
import { QuietRuns } from './quiet-runs.ts'

export type LedgerTurn = {
  id: TurnId
  session: SessionId
  flow: string
  grant: Grant
  call: { id: CallId; parent: LedgerTurn; background: boolean; deadline: number; tool: string } | null
  pending: boolean
  outcome: Outcome | null
  state: 'queued' | 'running' | 'ended'
  stopping: boolean
  node: NodeId | null
  epoch: number
  deadline: number
  /** When its sender waits no longer, as the sender asked for it; infinite where it never said. */
  due: number
  /** What its sender asked. */
  task: string
  /** When its newest activation began. */
  begunAt: number
  /** From its recorded steps while it runs, from its own word when it has ended. */
  used: number
  openedAt: number
  children: LedgerTurn[]
  /** Taken for messages that it sent. */
  mailed: number
  keys: Set<string>
  quiet: QuietRuns
}

/** One transaction as the log has it, and who committed it where that is known. */
export type Written = {
  /** In elapsed time, and by the clock on the wall. */
  at: number
  wall: number
  writer: NodeId | null
  events: readonly Event[]
}
/** What is broken, beginning with the law, or null. */
export type Broken = string | null

/** What never changes after the turn was opened. */
type Fixed = 'id' | 'session' | 'flow' | 'grant' | 'call' | 'openedAt' | 'due' | 'task'

/** `isOver`: its activation is gone, and the end is not recorded yet. */
export type Wait = { turn: LedgerTurn; target: SessionId; isOver: boolean }
type Agents = ReadonlyMap<string, Agent>
type FlowCount = { made: number; callTimes: number[] }
export class Ledger {
  readonly jumps: Jumps
  readonly agents: Agents
  readonly turns = new Map<TurnId, LedgerTurn>()
  readonly sessions = new Map<SessionId, { agent: string; kind: string }>()
  /** Turns that have not ended, by session. */
  readonly live = new Map<SessionId, Set<LedgerTurn>>()
  /** Pending calls, by the session that made them. */
  readonly pendingBy = new Map<SessionId, Set<LedgerTurn>>()
  readonly pending = new Set<LedgerTurn>()
  readonly flows = new Map<string, FlowCount>()
  readonly refused = new Map<CallId, string>()
  /** Tokens of every entry of a conversation, by its number. */
  readonly entries = new Map<SessionId, Map<number, number>>()
  readonly leases = new Leases()
  readonly stopping = new Set<NodeId>()
  readonly mail = new MailLedger()
  /** When a session last came to rest. */
  readonly restsSince = new Map<SessionId, number>()
  /** Of the newest transaction, or of the world's newest event. */
  now = 0
  waits: Wait[] = []
  calls = 0
  events = 0
  readonly outcomes = new Map<string, number>()

  constructor(jumps: Jumps, agents: Agents = simulated) {
    this.jumps = jumps
    this.agents = agents
  }
  turn(id: TurnId | null): LedgerTurn {
    const found = id === null ? undefined : this.turns.get(id)
    if (found === undefined) throw new Error(`R10: ${id ?? 'no turn'} is in the log before it was opened`)
    return found
  }

  listLive = (session: SessionId): ReadonlySet<LedgerTurn> => this.live.get(session) ?? none
  listPending = (session: SessionId): ReadonlySet<LedgerTurn> => this.pendingBy.get(session) ?? none
  findRunning = (session: SessionId): LedgerTurn | undefined =>
    [...this.listLive(session)].find((turn) => turn.state === 'running')
  /** What has waited longest in a session. */
  findNext = (session: SessionId): LedgerTurn | undefined =>
    [...this.listLive(session)].find((turn) => turn.state === 'queued')
  countQueued = (session: SessionId): number =>
    [...this.listLive(session)].filter((turn) => turn.state === 'queued').length
  flow = (id: string): FlowCount => getOrMake(this.flows, id, () => ({ made: 0, callTimes: [] }))

  /** Held by calls below that have not stopped, and used by those that have. */
  below(turn: LedgerTurn): number {
    let sum = turn.mailed
    for (const child of turn.children) {
      if ((child.grant.tokensMax ?? 0) === 0) continue
      if (child.state !== 'ended') sum += child.grant.tokensMax ?? 0
      else if (child.epoch > 0) sum += child.used + this.below(child)
    }
    return sum
  }

  apply(event: Event, at: number): void {
    this.events += 1
    this.now = at
    this.mail.apply(event)
    if (event.turn !== null) this.turns.get(event.turn)?.quiet.apply(event)
    switch (event.type) {
      case 'session.created':
        this.sessions.set(event.session, { agent: event.agent, kind: event.kind })
        return
      case 'message.sent':
        if (event.senderTurn !== null) this.turn(event.senderTurn).mailed += event.grant.tokensMax ?? 0
        return this.#openMessage(event, at)
      case 'message.delivered':
        return event.opens ? this.#openMessage(event, at) : undefined
      case 'call.opened':
        return this.#openCall(event, at)
      case 'call.refused':
        this.refused.set(event.call, event.refusal.code)
        return count(this.outcomes, `refused.${event.refusal.code}`)
      case 'call.ended':
        return this.#endCall(event)
      case 'turn.started':
        return start(this.turn(event.turn), event, at)
      case 'session.claimed':
        return this.#claim(event, at)
      case 'turn.cancelled':
        return void (this.turn(event.turn).stopping = true)
      case 'turn.ended':
        return this.#endTurn(event)
      case 'step.ended':
        this.turn(event.turn).used += event.usage === null ? 0 : event.usage.input + event.usage.output
        return
      case 'wait.started':
        this.waits.push({ turn: this.turn(event.turn), target: event.target, isOver: false })
        return
      case 'wait.ended':
        this.waits = this.waits.filter(
          ({ turn, target }) => turn.id !== event.turn || target !== event.target,
        )
        return
      case 'session.cancelled':
      case 'call.steered':
      case 'session.forked':
      case 'message.drafted':
      case 'message.revised':
      case 'message.released':
      case 'message.accepted':
      case 'message.answered':
      case 'message.declined':
      case 'message.died':
      case 'turn.suspended':
      case 'step.started':
      case 'notice.raised':
      case 'mail.announced':
      case 'session.woken':
      case 'session.opened':
      case 'session.closed':
      case 'session.quieted':
      case 'session.archived':
      case 'session.adopted':
      case 'session.renamed':
      case 'agent.created':
      case 'agent.deleted':
      case 'question.asked':
      case 'question.answered':
      case 'flow.seen':
        return
    }
  }

  #open(fixed: Pick<LedgerTurn, Fixed>): LedgerTurn {
    const turn: LedgerTurn = {
      ...fixed,
      pending: fixed.call !== null,
      outcome: null,
      state: 'queued',
      stopping: false,
      node: null,
      epoch: 0,
      deadline: Infinity,
      begunAt: 0,
      used: 0,
      children: [],
      mailed: 0,
      keys: new Set(),
      quiet: new QuietRuns(),
    }
    this.turns.set(turn.id, turn)
    getOrMake(this.live, turn.session, () => new Set<LedgerTurn>()).add(turn)
    return turn
  }

  #openMessage(event: EventOf<'message.sent' | 'message.delivered'>, at: number): void {
    if (event.turn !== null)
      this.#open({
        id: event.turn,
        session: event.session,
        flow: event.flow,
        grant: event.grant,
        call: null,
        openedAt: at,
        due: event.type === 'message.sent' ? (event.deadline ?? Infinity) : Infinity,
        task: event.text,
      })
  }

  #openCall(event: EventOf<'call.opened'>, at: number): void {
    const parent = this.turn(event.turn)
    const call = {
      id: event.call,
      parent,
      background: event.background,
      deadline: event.deadline,
      tool: event.tool,
    }
    const turn = this.#open({
      id: toTurnId(event.call),
      session: event.target,
      flow: event.flow,
      grant: event.grant,
      call,
      openedAt: at,
      due: event.deadline,
      task: event.task,
    })
    parent.children.push(turn)
    parent.keys.add(event.key)
    this.pending.add(turn)
    getOrMake(this.pendingBy, parent.session, () => new Set<LedgerTurn>()).add(turn)
    this.calls += 1
    const flow = this.flow(event.flow)
    if (event.tool !== 'call_agent') flow.made += 1
    flow.callTimes.push(at)
  }

  #endCall(event: EventOf<'call.ended'>): void {
    const turn = this.turn(toTurnId(event.call))
    turn.pending = false
    turn.outcome = event.outcome
    this.pending.delete(turn)
    this.pendingBy.get(event.session)?.delete(turn)
    if (turn.state === 'queued') this.#rest(turn)
    // Nobody waits any more for a session that served only this call.
    if (this.sessions.get(turn.session)?.kind === 'ephemeral')
      this.waits = this.waits.filter((wait) => wait.target !== turn.session)
    count(this.outcomes, event.outcome)
  }

  #claim(event: EventOf<'session.claimed'>, at: number): void {
    const turn = this.turn(event.turn)
    const awaitsCall = turn.children.some((child) => child.pending)
    turn.quiet.claim(turn.node, event.node, awaitsCall)
    turn.begunAt = at
    turn.node = event.node
    turn.epoch = event.epoch
    // The activation that waited is gone; the new one records its own waits.
    this.waits = this.waits.map((wait) => (wait.turn === turn ? { ...wait, isOver: true } : wait))
  }

  #endTurn(event: EventOf<'turn.ended'>): void {
    const turn = this.turn(event.turn)
    turn.used = event.tokensUsed
    if (event.entry !== null) {
      const { n, askedTokens, answeredTokens } = event.entry
      getOrMake(this.entries, event.session, () => new Map<number, number>())
        .set(n, askedTokens)
        .set(n + 1, answeredTokens)
    }
    this.waits = this.waits.filter((wait) => wait.turn !== turn)
    this.#rest(turn)
  }

  #rest(turn: LedgerTurn): void {
    if (turn.state === 'running') this.restsSince.set(turn.session, this.now)
    turn.state = 'ended'
    this.live.get(turn.session)?.delete(turn)
  }
}

const none: ReadonlySet<LedgerTurn> = new Set()
function start(turn: LedgerTurn, { node, epoch, deadline }: EventOf<'turn.started'>, at: number): void {
  Object.assign(turn, { state: 'running', node, epoch, deadline, begunAt: at } satisfies Partial<LedgerTurn>)
}
