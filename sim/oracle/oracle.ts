/**
 * The other side of the proof: a ledger of what drivers and clients asked and were told, which decides on its own
 * what may and must follow. It reads the log next to the laws, and takes no rule from `src`.
 *
 * O1: every refusal is right, and what is permitted is not refused.
 * O2: a caller reads what its callee said.
 * O3: each effect happens once.
 * O4: what is charged was used, and what is used was left.
 * O5: deadlines and budgets are those that the sender gave.
 * O6: who has to hear of something hears it once.
 * O7: mail goes to whom it was given, in the order in which it came.
 */
import type { Event, EventOf } from '../../src/model/event.ts'
import type { CallId, NodeId, TurnId } from '../../src/model/id.ts'
import type { Limits } from '../../src/model/limits.ts'
import type { Broken, Ledger } from '../ledger.ts'
import { getMainSession, nameAgent } from '../agents.ts'
import type { Plan, Root } from '../plan.ts'
import { Activations } from './activations.ts'
import { Answers } from './answers.ts'
import { checkGranted, checkRoot } from './deadlines.ts'
import { Effects } from './effects.ts'
import { Facts } from './facts.ts'
import { judgeCall, type CallAsk, type Judged } from './judge-call.ts'
import { judgeDesk, type DeskAsk } from './judge-desk.ts'
import { MailAsks } from './mail-asks.ts'
import { Notices } from './notices.ts'
import { OpenAsks } from './open-asks.ts'
import { Spending } from './spending.ts'

export class Oracle {
  readonly facts = new Facts()
  readonly answers = new Answers()
  readonly effects = new Effects()
  readonly activations = new Activations()
  readonly asks = new OpenAsks()
  readonly mail: MailAsks
  readonly limits: Limits
  readonly ledger: Ledger
  readonly #plan: Plan
  readonly #mayBeUnavailable: boolean
  readonly #spending = new Spending()
  readonly #notices = new Notices()
  /** What the driver of a turn asked for, by turn and task. */
  readonly #calls = new Map<string, CallAsk>()
  readonly #roots = new Set<string>()
  /** Agents that are being made now. */
  #hiring = 0

  constructor(ledger: Ledger, limits: Limits, plan: Plan) {
    this.ledger = ledger
    this.limits = limits
    this.#plan = plan
    // A store whose disk fails may say so to everybody.
    this.#mayBeUnavailable = plan.faults.some(({ kind }) => kind === 'disk')
    this.mail = new MailAsks(ledger, this.facts, limits)
  }

  askCall(turn: TurnId, ask: CallAsk): void {
    this.#calls.set(`${turn} ${ask.task}`, ask)
    if (ask.act.summary === true) this.#spending.expectSummary(turn)
  }

  /** A root of a client: one more turn for a session, or a new session. */
  beginRoot = ({ main, agent }: Root, index: number): ((answer: string | null) => Broken) => {
    const session = main ? getMainSession(nameAgent(agent)) : null
    return this.asks.begin(`root ${index}`, () => {
      if (session !== null && this.facts.deleted.has(session)) return ['session_unknown']
      const isFull = session !== null && this.ledger.countQueued(session) >= this.limits.queuedPerSessionMax
      return [isFull ? 'queue_full' : 'done', ...(this.#mayBeUnavailable ? ['store_unavailable'] : [])]
    })
  }

  beginDesk = (ask: DeskAsk): ((answer: string | null) => Broken) => {
    const { ledger, facts, limits } = this
    const bounds = { queuedMax: limits.queuedPerSessionMax, agentsMax: limits.agentsMadeMax }
    const { do: deed, a, b } = ask.act
    const isHiring = deed === 'hire' ? 1 : 0
    this.#hiring += isHiring
    const end = this.asks.begin(`desk ${deed} ${a} ${b}`, () =>
      judgeDesk({ ledger, facts, ...bounds, hiringBeside: this.#hiring - isHiring }, ask),
    )
    // Those that are asked at the same time count for one another.
    if (isHiring === 1) this.asks.look()
    return (answer) => {
      const broken = end(answer)
      this.#hiring -= isHiring
      return broken
    }
  }

  beginTurn(turn: TurnId, node: NodeId, signal: AbortSignal): () => void {
    this.#spending.begin(turn, signal)
    return this.activations.begin(turn, node, signal)
  }

  checkThinking = (turn: TurnId, node: NodeId, activation: AbortSignal): Broken =>
    this.#spending.checkBegun(this.ledger, turn, node, activation)
  think = (...said: Parameters<Spending['think']>): void => this.#spending.think(...said)
  checkTold = (id: CallId | TurnId, outcome: string, text: string | null): Broken =>
    this.answers.checkTold(id, outcome, text)

  /** The ledger is as it was when the event was decided. */
  checkBefore(event: Event, at: number): Broken {
    const broken =
      this.#checkOne(event, at) ??
      this.answers.apply(this.ledger, event) ??
      this.effects.apply(event) ??
      this.activations.check(event) ??
      this.mail.checkBefore(event) ??
      this.#notices.apply(this.ledger, this.facts, event)
    this.facts.apply(event)
    return broken
  }

  checkAfter(): Broken {
    this.asks.look()
    return this.#notices.checkAfter()
  }

  #checkOne(event: Event, at: number): Broken {
    if (event.type === 'call.opened' || event.type === 'call.refused') return this.#checkCall(event, at)
    if (event.type === 'step.ended') return this.#spending.applyStep(event)
    if (event.type === 'turn.ended') return this.#spending.checkEnd(this.ledger, event)
    if (event.type === 'agent.created' && this.facts.madeCount >= this.limits.agentsMadeMax)
      return `R11: ${event.agent} is made, and there are ${this.facts.madeCount} already`
    return event.type === 'message.sent' ? this.#checkRoot(event, at) : null
  }

  #checkCall(event: EventOf<'call.opened' | 'call.refused'>, at: number): Broken {
    const parent = this.ledger.turn(event.turn)
    const ask = this.#calls.get(`${parent.id} ${event.task}`)
    if (ask === undefined) return `O1: ${parent.id} makes ${event.call}, for which nobody asked`
    const { ledger, facts, limits } = this
    const judged: Judged = { ledger, facts, limits, parent, ask, at, spent: this.#spending.estimate(parent) }
    const right = judgeCall(judged)
    const became = event.type === 'call.opened' ? 'open' : event.refusal.code
    if (!right.has(became))
      return `O1: ${event.call} of ${parent.id} (${ask.act.tool}) became ${became}; right is ${[...right].join(' or ')}`
    return event.type === 'call.opened' ? checkGranted(judged, event) : null
  }

  #checkRoot(event: EventOf<'message.sent'>, at: number): Broken {
    const index = /^s\d+ root-(\d+)$/.exec(event.text)?.[1]
    const root = index === undefined ? undefined : this.#plan.roots[Number(index)]
    if (index === undefined || root === undefined) return null
    if (this.#roots.has(index)) return `O1: the root ${index} is sent twice`
    this.#roots.add(index)
    return checkRoot(root, event, at, this.limits, this.ledger.jumps.jumpsMs)
  }
}
