/**
 * The views as docs/words.md describes them, derived from the log without the store's code. The store folds
 * event by event into rows. This keeps what happened to each session, turn and message, and says what its row
 * must be when asked.
 */
import type { Event, EventOf } from '../src/model/event.ts'
import { OwnDays } from './own-fold-days.ts'
import { OwnSessionCosts } from './own-fold-sessions.ts'
import { OwnMail } from './own-fold-mail.ts'
import { OwnRequests } from './own-fold-requests.ts'
import { OwnTurns } from './own-fold-turns.ts'

export type Cell = string | number | null
export type Row = Readonly<Record<string, Cell>>
type Rows = Map<string, Row>
/** Where an event stands: its own number, and the time of its transaction. */
export type Place = { seq: number; at: number }

export const joinKey = (...parts: readonly Cell[]): string => parts.join('\u0000')

type SessionHistory = {
  created: EventOf<'session.created'>
  at: number
  title: string
  parent: string | null
  archived: 'idle' | 'deleted' | null
  fork: EventOf<'session.forked'> | null
  summary: { text: string; entries: number } | null
}

/** Notices that no turn has been given: at most so many of a session, and so many characters of each. */
const notices = { kept: 100, characters: 2000 }
const wakesKept = 100

export class OwnFold {
  readonly #sessions = new Map<string, SessionHistory>()
  readonly #turns = new OwnTurns()
  readonly #mail = new OwnMail()
  readonly #days = new OwnDays()
  readonly #costs = new OwnSessionCosts()
  readonly #requests = new OwnRequests()
  readonly #timelines: Rows = new Map()
  readonly #agents: Rows = new Map()
  readonly #refused: Rows = new Map()
  readonly #waits: Rows = new Map()
  readonly #traced: Rows = new Map()
  readonly #notices: Rows = new Map()
  readonly #announced: Rows = new Map()
  readonly #woken: Rows = new Map()
  readonly #clients: Rows = new Map()
  readonly #questions: Rows = new Map()
  readonly #permissions: Rows = new Map()
  readonly #seen: Rows = new Map()
  readonly #entries: Rows = new Map()

  /** One transaction. `seq` is the number of its last event. */
  take({ seq, at, events }: { seq: number; at: number; events: readonly Event[] }): void {
    const first = seq - events.length + 1
    events.forEach((event, index) => {
      const place = { seq: first + index, at }
      this.#timelines.set(joinKey(event.session, seq), { session: event.session, seq })
      this.#turns.take(event, place, events)
      this.#days.take(event, place)
      this.#costs.take(event)
      this.#requests.take(event, place)
      this.#mail.take(event, place, {
        turn: (id) => this.#turns.find(id),
        isEphemeral: (id) => this.#sessions.get(id)?.created.kind === 'ephemeral',
      })
      this.#noteSession(event, at)
      this.#noteAgent(event, place)
      this.#noteOpening(event)
      this.#noteNotice(event, place)
      this.#noteWake(event, place)
      this.#noteWait(event)
      this.#noteQuestion(event, place)
      this.#noteTrace(event)
      if (event.type === 'call.refused') this.#noteRefused(event, place)
      if (event.type === 'turn.ended') this.#noteEntries(event, at)
    })
  }

  #noteSession(event: Event, at: number): void {
    if (event.type === 'session.created')
      this.#sessions.set(event.session, {
        created: event,
        at,
        title: event.title,
        parent: event.parent,
        archived: null,
        fork: null,
        summary: null,
      })
    const session = this.#sessions.get(event.session)
    if (session === undefined) return
    if (event.type === 'session.renamed') session.title = event.title
    if (event.type === 'session.adopted') {
      session.parent = event.parent
      if (event.revives === true) session.archived = null
    }
    if (event.type === 'session.archived') session.archived = event.cause
    if (event.type === 'session.forked') session.fork = event
    if (event.type === 'step.ended' && event.kind === 'summary' && event.ok)
      session.summary = event.output as { text: string; entries: number }
  }

  /** One that is created again keeps the time of its first creation. */
  #noteAgent(event: Event, { seq, at }: Place): void {
    if (event.type !== 'agent.created' && event.type !== 'agent.deleted') return
    const known = this.#agents.get(event.agent)
    if (event.type === 'agent.created')
      this.#agents.set(event.agent, {
        id: event.agent,
        title: event.definition.title,
        seq,
        created_at: known?.['created_at'] ?? at,
        deleted: 0,
      })
    else if (known !== undefined) this.#agents.set(event.agent, { ...known, deleted: 1 })
  }

  /** A message or a call brings an archived session back, and its turn is given the notices. */
  #noteOpening(event: Event): void {
    if (event.type !== 'message.sent' && event.type !== 'message.delivered' && event.type !== 'call.opened')
      return
    if (event.type === 'message.delivered' && !event.opens) return
    const reached = event.type === 'call.opened' ? event.target : event.session
    const session = this.#sessions.get(reached)
    if (session?.archived === 'idle') session.archived = null
    if (event.notices === undefined || event.turn === null) return
    for (const [key, notice] of this.#notices)
      if (notice['session'] === reached && Number(notice['seq']) <= event.notices.upTo)
        this.#notices.delete(key)
  }

  #noteNotice(event: Event, { seq }: Place): void {
    if (event.type !== 'notice.raised') return
    const { session, about } = event
    const text = Array.from(event.text).slice(0, notices.characters).join('')
    this.#notices.set(joinKey(session, seq), { session, seq, about, text })
    const own = [...this.#notices].filter(([, notice]) => notice['session'] === session)
    for (const [key] of own.slice(0, Math.max(0, own.length - notices.kept))) this.#notices.delete(key)
  }

  #noteWake(event: Event, { seq, at }: Place): void {
    const { session } = event
    if (event.type === 'mail.announced')
      for (const message of event.messages) {
        const key = joinKey(session, message)
        if (!this.#announced.has(key)) this.#announced.set(key, { session, message, seq })
      }
    const known = this.#clients.get(session) ?? { session, program: '', open: 0, quiet_until: 0 }
    if (event.type === 'session.opened')
      this.#clients.set(session, { ...known, program: event.program, open: 1 })
    if (event.type === 'session.closed' && this.#clients.has(session))
      this.#clients.set(session, { ...known, open: 0 })
    if (event.type === 'session.quieted')
      this.#clients.set(session, { ...known, quiet_until: Math.ceil(event.until) })
    if (event.type !== 'session.woken') return
    this.#woken.set(joinKey(session, seq), { session, seq, at })
    const own = [...this.#woken].filter(([, row]) => row['session'] === session)
    for (const [key] of own.slice(0, Math.max(0, own.length - wakesKept))) this.#woken.delete(key)
  }

  #noteWait(event: Event): void {
    if (event.type === 'wait.started') {
      const { session: waiter, target, turn } = event
      const key = joinKey(waiter, target, turn)
      const until = Math.max(Number(this.#waits.get(key)?.['until'] ?? 0), Math.ceil(event.until))
      this.#waits.set(key, { waiter, target, turn, until })
    }
    if (event.type === 'wait.ended') this.#waits.delete(joinKey(event.session, event.target, event.turn))
    if (event.type === 'turn.ended')
      for (const [key, wait] of this.#waits) if (wait['turn'] === event.turn) this.#waits.delete(key)
  }

  #noteQuestion(event: Event, { seq }: Place): void {
    if (event.type === 'question.asked') {
      const deadline = Math.ceil(event.deadline)
      const row = { id: event.question, turn: event.turn, seq, deadline, answer: null, answered_by: null }
      this.#questions.set(event.question, row)
    }
    const known = event.type === 'question.answered' ? this.#questions.get(event.question) : undefined
    if (event.type === 'question.answered' && known !== undefined)
      this.#questions.set(event.question, { ...known, answer: event.answer, answered_by: event.by })
    if (event.type === 'question.answered' && event.scope === 'session' && event.answer === 'allow') {
      const { session, tool = '', question } = event
      const key = joinKey(session, tool)
      if (!this.#permissions.has(key)) this.#permissions.set(key, { session, tool, question })
    }
    if (event.type === 'flow.seen' && !this.#seen.has(event.flow))
      this.#seen.set(event.flow, { flow: event.flow, seq })
  }

  /** What programs outside wrote down of their own: their uses of tools, and their cancels. */
  #noteTrace(event: Event): void {
    const isStep = event.type === 'step.started' || event.type === 'step.ended'
    const isSteered = event.type === 'call.steered' && event.act !== null
    if (event.type !== 'session.cancelled' && !isSteered && (!isStep || event.turn !== null)) return
    const key =
      event.type === 'session.cancelled'
        ? `cancel:${event.act}`
        : event.type === 'call.steered'
          ? `steer:${event.act ?? ''}`
          : event.key
    const id = joinKey(event.session, key)
    const ended = event.type !== 'step.started' || this.#traced.get(id)?.['ended'] === 1 ? 1 : 0
    this.#traced.set(id, { session: event.session, key, ended })
  }

  #noteRefused({ call, session: caller, turn }: EventOf<'call.refused'>, { seq }: Place): void {
    const flow = this.#turns.find(turn ?? '')?.flow ?? null
    this.#refused.set(call, { call, caller, caller_turn: turn, flow, seq })
  }

  /** What was asked and what was answered; the answer stands at the time of its end. */
  #noteEntries({ session, turn, entry, toolCalls }: EventOf<'turn.ended'>, at: number): void {
    if (entry === null) return
    const { n } = entry
    this.#entries.set(joinKey(session, n), {
      session,
      n,
      role: 'user',
      at: entry.startedAt,
      text: entry.asked,
      tokens: entry.askedTokens,
      sender: entry.from,
      turn,
      has_steps: 0,
    })
    this.#entries.set(joinKey(session, n + 1), {
      session,
      n: n + 1,
      role: 'assistant',
      at,
      text: entry.answered,
      tokens: entry.answeredTokens,
      sender: null,
      turn,
      has_steps: toolCalls.length > 0 ? 1 : 0,
    })
  }

  /** Of every view its rows as they must be now, by primary key. */
  render(): ReadonlyMap<string, ReadonlyMap<string, Row>> {
    const sessions = Array.from(this.#sessions, ([id, history]) => [id, renderSession(history)] as const)
    return new Map<string, Rows>([
      ['log_sessions', this.#timelines],
      ['sessions', new Map(sessions)],
      ['agents', this.#agents],
      ['turns', this.#turns.render((turn) => this.#days.countSteps(turn))],
      ['spent_days', this.#days.render()],
      ['spent_sessions', this.#costs.render()],
      ['places', this.#requests.renderPlaces()],
      ['requests', this.#requests.renderRequests()],
      ['messages', this.#mail.renderMessages()],
      ['inboxes', this.#mail.renderInboxes()],
      ['refused', this.#refused],
      ['waits', this.#waits],
      ['traced', this.#traced],
      ['notices', this.#notices],
      ['announced', this.#announced],
      ['woken', this.#woken],
      ['clients', this.#clients],
      ['questions', this.#questions],
      ['permissions', this.#permissions],
      ['seen', this.#seen],
      ['entries', this.#entries],
    ])
  }
}

const renderSession = ({ created, at, title, parent, archived, fork, summary }: SessionHistory): Row => ({
  id: created.session,
  agent: created.agent,
  kind: created.kind,
  parent,
  cwd: created.cwd,
  title,
  created_at: at,
  model: created.model,
  flow: created.flow,
  fork_of: fork?.from ?? null,
  fork_n: fork?.entries ?? 0,
  archived,
  summary: summary?.text ?? null,
  summary_entries: summary?.entries ?? 0,
  moved: null,
})
