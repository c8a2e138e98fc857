/**
 * What is going on, in memory: turns that have not ended, their sessions and their flows, each from the event that
 * made it. What is here is complete, so that facts about it need no view; what is not here is only in the views.
 * It is a second fold of the same events, and knows few of them: whatever else changes a turn or a session takes
 * it out, and the views answer again (R10).
 */
import type { Event, EventOf } from '../model/event.ts'
import type { Activation, OpenFacts, SessionFacts, SessionRow, TurnFacts, TurnRow } from '../model/facts.ts'
import { toTurnId, type FlowId, type Millis, type SessionId, type TurnId } from '../model/id.ts'
import { nothingSpent } from '../model/money.ts'
import { PassingMap } from '../model/passing-map.ts'
import type { Transaction } from './apply.ts'
import { isFree, isPlain } from './covered.ts'
import { dropOldest } from './drop-oldest.ts'
import { effects } from './live-effects.ts'
import { PendingBelow } from './pending-below.ts'

type Turn = { -readonly [Name in keyof TurnRow]: TurnRow[Name] }
/** `turns` have not ended; `calls` are those that it blocks on; `seq` is the event that changed its row last. */
type Session = { row: SessionRow; turns: Set<Turn>; calls: Set<TurnId>; seq: number }
/** `openedAt` of each of its calls; `made` counts the sessions that it created. */
type Flow = { made: number; openedAt: Millis[]; live: number }

/** R11: of sessions that rest, the newest are kept. */
const sessionsMax = 4096
/** On both sides: after the wall clock was set back, what lies an hour ahead is not of the last minute. */
const minuteMs = 60_000

export class Live {
  readonly #turns = new PassingMap<TurnId, Turn>()
  readonly #sessions = new Map<SessionId, Session>()
  readonly #flows = new PassingMap<FlowId, Flow>()
  readonly #leases = new Map<string, Millis>()
  readonly #below = new PendingBelow()

  /** Undefined, here as below: it is not known, so the views are asked. */
  activation(id: TurnId): (Activation & { session: SessionId }) | undefined {
    const turn = this.#turns.get(id)
    if (turn === undefined) return undefined
    const { session, state, node, epoch, stopping, call, tokensUsed, tokensBelow, nanoUsdBelow } = turn
    const pending = call?.pending ?? false
    const outcome = call?.outcome ?? null
    return { session, state, node, epoch, stopping, pending, outcome, tokensUsed, tokensBelow, nanoUsdBelow }
  }

  turn(id: TurnId): TurnFacts | undefined {
    const turn = this.#turns.get(id)
    const session = turn === undefined ? undefined : this.#sessions.get(turn.session)
    return turn === undefined || session === undefined
      ? undefined
      : { turn: copyTurn(turn), session: { ...session.row } }
  }

  session(id: SessionId, now: Millis): SessionFacts | undefined {
    const session = this.#sessions.get(id)
    // A client has many turns at once, and the views say which of them comes first.
    if (session === undefined || session.row.kind === 'external') return undefined
    let [running, next, queued]: [Turn | null, Turn | null, number] = [null, null, 0]
    for (const turn of session.turns) {
      if (turn.state === 'running') running = turn
      else {
        queued += 1
        if (next === null || turn.openedSeq < next.openedSeq) next = turn
      }
    }
    const until = running === null ? 0 : this.#leases.get(running.node ?? '')
    if (until === undefined) return undefined
    return {
      session: { ...session.row },
      running: running === null ? null : copyTurn(running),
      runnerAlive: until > now,
      queued,
      next: next === null ? null : copyTurn(next),
    }
  }

  /** Undefined also where something after that event has changed it. */
  row = (id: SessionId, upTo = Infinity): SessionRow | undefined =>
    (this.#sessions.get(id)?.seq ?? Infinity) <= upTo ? this.#sessions.get(id)?.row : undefined

  /** For a call that makes its own session. */
  open(callerTurn: TurnId, now: Millis): Omit<OpenFacts, 'target'> | undefined {
    const caller = this.turn(callerTurn)
    const flow = caller === undefined ? undefined : this.#flows.get(caller.turn.flow)
    const session = caller === undefined ? undefined : this.#sessions.get(caller.turn.session)
    if (caller === undefined || flow === undefined || session === undefined) return undefined
    const lately = flow.openedAt.filter((at) => at > now - minuteMs && at < now + minuteMs)
    return {
      caller,
      openCalls: session.calls.size,
      descendants: flow.made,
      callsLastMinute: lately.length,
      oldestCallAt: lately.length === 0 ? null : Math.min(...lately),
    }
  }

  /** Whether it is here, and so was never told anything: a notice takes a session out. */
  hasSession = (id: SessionId): boolean => this.#sessions.has(id)
  hasTurn = (id: TurnId): boolean => this.#turns.has(id)

  /** Whether nobody below it is waited for. False also where that is not known. */
  isAlone = (id: TurnId): boolean => this.#turns.has(id) && this.#below.isNone(id)

  /** How many entries its conversation has; undefined where it is not here. */
  countEntries = (id: SessionId): number | undefined => this.#sessions.get(id)?.row.entries

  apply({ seq: last, at, events }: Transaction): void {
    for (const event of events) if (event.type === 'session.created') this.#create(event, last, at)
    let seq = last - events.length
    for (const event of events) this.#fold(event, (seq += 1), at, events)
  }

  lease = (node: string, until: Millis): void => void this.#leases.set(node, until)

  /** After a fault nobody knows what of it was recorded. */
  clear(): void {
    for (const map of [this.#turns, this.#sessions, this.#flows, this.#leases, this.#below]) map.clear()
  }

  #fold(event: Event, seq: number, at: Millis, beside: readonly Event[]): void {
    if (effects[event.type] === 'takesOut') return void this.#sessions.delete(event.session)
    if (event.type === 'message.sent') this.#send(event, seq, at)
    else if (event.type === 'call.opened') this.#open(event, seq, at, beside)
    else if (event.type === 'turn.started' || event.type === 'session.claimed') this.#start(event)
    else if (event.type === 'turn.cancelled')
      Object.assign(this.#find(event.turn) ?? {}, { stopping: event.outcome })
    else if (event.type === 'call.ended') this.#endCall(event, seq)
    else if (event.type === 'turn.ended') this.#end(event, seq)
    else if (event.type === 'step.ended' && event.kind === 'summary') this.#sessions.delete(event.session)
  }

  #start(event: EventOf<'turn.started' | 'session.claimed'>): void {
    const turn = this.#find(event.turn)
    if (turn === undefined) return
    turn.node = event.node
    turn.epoch = event.epoch
    if (event.type === 'session.claimed') return
    turn.state = 'running'
    turn.deadline = event.deadline
  }

  #find = (id: TurnId | null): Turn | undefined => (id === null ? undefined : this.#turns.get(id))

  #create(event: EventOf<'session.created'>, seq: number, createdAt: Millis): void {
    const { session: id, agent, kind, parent, cwd, title, model, flow } = event
    const unsaid = { archived: false as const, entries: 0, summary: null, summaryEntries: 0 }
    const row: SessionRow = { id, agent, kind, parent, cwd, title, model, createdAt, ...unsaid }
    this.#sessions.set(id, { row, turns: new Set(), calls: new Set(), seq })
    const made = flow === null ? undefined : this.#flows.get(flow)
    if (made !== undefined) made.made += 1
    dropOldest(this.#sessions, sessionsMax, ({ turns, calls }) => turns.size + calls.size === 0)
  }

  #send(event: EventOf<'message.sent'>, openedSeq: number, openedAt: Millis): void {
    const { turn: id, session, flow, grant, senderTurn, deadline } = event
    // What it may use is taken from its sender.
    if (senderTurn !== null && (grant.tokensMax !== null || grant.nanoUsdMax !== undefined))
      this.#drop(senderTurn)
    if (id === null) return
    if (!isPlain(event)) return void this.#sessions.delete(session)
    this.#flows.set(flow, { made: 0, openedAt: [], live: 0 })
    this.#add({
      ...untouched,
      id,
      session,
      flow,
      call: null,
      grant,
      deadline: deadline ?? 0,
      openedAt,
      openedSeq,
    })
  }

  #open(event: EventOf<'call.opened'>, openedSeq: number, openedAt: Millis, beside: readonly Event[]): void {
    const { session: caller, turn: callerTurn, target, flow, grant, background, deadline, key } = event
    const id = toTurnId(event.call)
    if (!isFree(event)) {
      if (callerTurn !== null) this.#drop(callerTurn)
      for (const session of [caller, target]) this.#sessions.delete(session)
      this.#flows.delete(flow)
      return
    }
    const place = { id: event.call, caller, callerTurn: callerTurn as TurnId, background, deadline, key }
    const call = { ...place, pending: true, outcome: null }
    this.#add({ ...untouched, id, session: target, flow, call, grant, deadline: 0, openedAt, openedSeq })
    if (callerTurn !== null && this.#turns.has(callerTurn)) this.#below.open(callerTurn)
    if (!background) this.#sessions.get(caller)?.calls.add(id)
    const made = beside.some(
      (other) => other.type === 'session.created' && other.kind === 'ephemeral' && other.session === target,
    )
    const known = this.#flows.get(flow)
    if (known === undefined) return
    known.openedAt.push(openedAt)
    if (made) known.made += 1
  }

  #add(turn: Turn): void {
    this.#turns.set(turn.id, turn)
    this.#sessions.get(turn.session)?.turns.add(turn)
    const flow = this.#flows.get(turn.flow)
    if (flow !== undefined) flow.live += 1
  }

  #endCall({ call: id, outcome }: EventOf<'call.ended'>, seq: number): void {
    const turn = this.#turns.get(toTurnId(id))
    if (turn?.call == null) return
    this.#below.end(turn.call.callerTurn)
    this.#sessions.get(turn.call.caller)?.calls.delete(turn.id)
    turn.call = { ...turn.call, pending: false, outcome }
    turn.endedSeq = seq
    if (turn.state === 'queued') turn.state = 'ended'
    if (turn.state === 'ended') this.#remove(turn)
  }

  #end({ turn: id, session, entry, tokensUsed }: EventOf<'turn.ended'>, seq: number): void {
    const known = this.#sessions.get(session)
    if (known !== undefined && entry !== null)
      Object.assign(known, { row: { ...known.row, entries: entry.n + 1 }, seq })
    const turn = this.#find(id)
    if (turn === undefined) return
    Object.assign(turn, { state: 'ended', tokensUsed, endedSeq: turn.endedSeq ?? seq })
    known?.turns.delete(turn)
    if (turn.call?.pending !== true) this.#remove(turn)
  }

  /** One that has ended is in the views only. */
  #remove(turn: Turn): void {
    this.#turns.delete(turn.id)
    this.#below.forget(turn.id)
    const session = this.#sessions.get(turn.session)
    session?.turns.delete(turn)
    // What a call made is not asked again.
    if (session?.row.kind === 'ephemeral' && session.turns.size === 0) this.#sessions.delete(turn.session)
    const flow = this.#flows.get(turn.flow)
    if (flow === undefined) return
    flow.live -= 1
    if (flow.live === 0) this.#flows.delete(turn.flow)
  }

  #drop(id: TurnId): void {
    const turn = this.#turns.get(id)
    if (turn === undefined) return
    this.#remove(turn)
    this.#sessions.delete(turn.session)
    // Its end will not be seen here, so for its caller it stays pending.
    if (turn.call !== null) this.#sessions.delete(turn.call.caller)
  }
}

const untouched = {
  state: 'queued' as const,
  node: null,
  epoch: 0,
  stopping: null,
  endedSeq: null,
  tokensUsed: 0,
  tokensBelow: 0,
  spent: nothingSpent,
  nanoUsdBelow: 0,
}

const copyTurn = (turn: Turn): TurnRow => ({ ...turn }) // It goes on while somebody keeps the facts about it.
