/** Sessions, turns and calls as the runtime makes them, by chance: a model that says which event may come next. */
import type { Event } from '../../src/model/event.ts'
import type { CallId, SessionId, TurnId } from '../../src/model/id.ts'
import {
  callEnded,
  cancelled,
  created,
  ended,
  opened,
  refused,
  rested,
  said,
  sent,
  started,
  stepped,
  summarised,
  waited,
} from './store.ts'

export type Turn = {
  id: TurnId
  session: SessionId
  state: 'queued' | 'running' | 'ended'
  caller: Turn | null
  pending: boolean
  stopping: boolean
  used: number
  /** Zero is no budget. */
  held: number
}

/**
 * What the runtime keeps to: a small model that says which event may come next. `pick` is where chance comes
 * from.
 */
export class CallWorld {
  readonly sessions: { id: SessionId; persistent: boolean; entries: number }[] = []
  readonly turns: Turn[] = []
  readonly waits = new Set<string>()
  #next = 0
  protected readonly pick: (count: number) => number
  constructor(pick: (count: number) => number) {
    this.pick = pick
  }

  protected one<T>(of: readonly T[]): T | undefined {
    return of.length === 0 ? undefined : of[this.pick(of.length)]
  }

  protected fresh = (): number => (this.#next += 1)

  protected running = (): Turn[] => this.turns.filter(({ state }) => state === 'running')

  protected readonly acts = (): (() => Event[])[] => [
    this.send,
    this.call,
    this.refuse,
    this.start,
    this.step,
    this.cancel,
    this.endTurn,
    this.endCall,
    this.wait,
    this.claim,
    this.archive,
    this.fork,
  ]

  protected send = (): Event[] => {
    const known =
      this.pick(3) === 0 ? undefined : this.one(this.sessions.filter(({ persistent }) => persistent))
    const session = known?.id ?? `ses_${this.fresh()}`
    const turn: TurnId = `turn_${this.fresh()}`
    this.turns.push({
      id: turn,
      session,
      state: 'queued',
      caller: null,
      pending: false,
      stopping: false,
      used: 0,
      held: 0,
    })
    if (known === undefined) this.sessions.push({ id: session, persistent: true, entries: 0 })
    return [...(known === undefined ? [created(session)] : []), sent(session, turn)]
  }

  /** Shares what the other has said so far, or less. */
  protected fork = (): Event[] => {
    const from = this.one(this.sessions.filter(({ persistent }) => persistent))
    if (from === undefined) return []
    const session: SessionId = `ses_${this.fresh()}`
    const entries = this.pick(from.entries + 1)
    this.sessions.push({ id: session, persistent: true, entries })
    return [
      created(session),
      { type: 'session.forked', session, turn: null, from: from.id, entries, back: from.entries - entries },
    ]
  }

  protected call = (): Event[] => {
    const caller = this.one(this.running().filter(({ stopping }) => !stopping))
    if (caller === undefined) return []
    const known =
      this.pick(2) === 0
        ? undefined
        : this.one(this.sessions.filter(({ persistent, id }) => persistent && id !== caller.session))
    const suffix = this.fresh()
    const session = known?.id ?? `ses_${suffix}`
    if (known === undefined) this.sessions.push({ id: session, persistent: false, entries: 0 })
    const held = this.one(caller.held > 0 ? [10, 1000] : [0, 10, 1000]) ?? 0
    this.turns.push({
      id: `turn_${suffix}`,
      session,
      state: 'queued',
      caller,
      pending: true,
      stopping: false,
      used: 0,
      held,
    })
    const call = opened({
      from: caller.session,
      in: caller.id,
      call: `call_${suffix}`,
      to: session,
      tokens: held === 0 ? null : held,
      background: this.pick(2) === 0,
    })
    return [...(known === undefined ? [created(session, 'ephemeral')] : []), call]
  }

  protected refuse = (): Event[] => {
    const caller = this.one(this.running())
    return caller === undefined ? [] : [refused(caller.session, caller.id, `call_${this.fresh()}`)]
  }

  protected start = (): Event[] => {
    const turn = this.one(
      this.turns.filter(
        ({ state, session }) =>
          state === 'queued' && !this.running().some((other) => other.session === session),
      ),
    )
    if (turn === undefined) return []
    turn.state = 'running'
    return [started(turn.session, turn.id)]
  }

  protected step = (): Event[] => {
    const turn = this.one(this.running())
    if (turn === undefined) return []
    const tokens = this.pick(50)
    turn.used += tokens
    if (this.pick(5) === 0)
      return [summarised(turn.session, turn.id, `summary ${this.fresh()}`, tokens)].map((event) => ({
        ...event,
        usage: { input: tokens, output: 0, estimated: true },
      }))
    return [
      stepped(turn.session, turn.id, { input: tokens, output: 0, estimated: false }),
      stepped(turn.session, turn.id, null, 'tool'),
    ]
  }

  protected cancel = (): Event[] => {
    const turn = this.one(this.running().filter(({ stopping }) => !stopping))
    if (turn === undefined) return []
    turn.stopping = true
    return [...this.endPending(turn), cancelled(turn.session, turn.id)]
  }

  protected endTurn = (): Event[] => {
    const turn = this.one(this.running())
    if (turn === undefined) return []
    const below = this.turns
      .filter((other) => other.caller === turn)
      .flatMap((other) => this.endPending(other))
    turn.state = 'ended'
    for (const wait of this.waits) if (wait.startsWith(`${turn.session} `)) this.waits.delete(wait)
    const session = this.sessions.find(({ id }) => id === turn.session)
    const entry = session?.persistent === true ? said(session.entries + 1, 'asked', 'answered 😀') : null
    if (session !== undefined && entry !== null) session.entries += 2
    return [
      ...below,
      ended(turn.session, turn.id, turn.used, entry, this.pick(2) === 0 ? ['read'] : []),
      ...this.endPending(turn),
    ]
  }

  protected endCall = (): Event[] => {
    const turn = this.one(this.turns.filter(({ pending }) => pending))
    return turn === undefined ? [] : this.endPending(turn)
  }

  protected endPending(turn: Turn): Event[] {
    if (!turn.pending || turn.caller === null) return []
    turn.pending = false
    if (turn.state === 'queued') turn.state = 'ended'
    const call: CallId = `call_${turn.id.slice(5)}`
    return [
      callEnded(
        turn.caller.session,
        turn.caller.id,
        call,
        turn.session,
        this.one(['completed', 'timed_out', 'cancelled'] as const) ?? 'lost',
      ),
    ]
  }

  protected wait = (): Event[] => {
    const waiter = this.one(this.running())
    const target = this.one(this.sessions)
    if (waiter === undefined || target === undefined) return []
    const wait = `${waiter.session} ${target.id}`
    if (this.waits.delete(wait)) return [rested(waiter.session, waiter.id, target.id)]
    this.waits.add(wait)
    return [waited(waiter.session, waiter.id, target.id)]
  }

  protected claim = (): Event[] => {
    const turn = this.one(this.running())
    return turn === undefined
      ? []
      : [
          {
            type: 'session.claimed',
            session: turn.session,
            turn: turn.id,
            node: 'node_2',
            epoch: 2 + this.pick(5),
          },
        ]
  }

  protected archive = (): Event[] => {
    const session = this.one(this.sessions)
    return session === undefined || this.pick(4) > 0
      ? []
      : [{ type: 'session.archived', session: session.id, turn: null, cause: 'deleted' }]
  }
}
