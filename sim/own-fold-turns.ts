/** Turns and the calls that they serve, each as the events that it had; see own-fold.ts. */
import type { Event, EventOf } from '../src/model/event.ts'
import type { Place, Row } from './own-fold.ts'

type History = {
  id: string
  session: string
  flow: string
  opened: Place
  /** What the sender of a message gave it. */
  deadline: number | null
  call: (EventOf<'call.opened'> & { made: boolean }) | null
  started: EventOf<'turn.started'> | null
  /** The newest activation. */
  activation: { node: string; epoch: number } | null
  stopping: string | null
  callEnded: { event: EventOf<'call.ended'>; seq: number } | null
  ended: { event: EventOf<'turn.ended'>; seq: number } | null
  /** Calls that it made. */
  below: History[]
  /** Tokens of messages that it sent: they are gone for good. */
  mailed: number
  mailedMoney: number
}

const served = (call: string): string => call.replace(/^call_/, 'turn_')

export class OwnTurns {
  readonly #turns = new Map<string, History>()

  find = (id: string): Readonly<History> | undefined => this.#turns.get(id)

  take(event: Event, place: Place, together: readonly Event[]): void {
    if (event.type === 'message.sent') this.#take(event)
    if (event.type === 'call.opened') this.#call(event, place, together)
    if (
      (event.type === 'message.sent' || (event.type === 'message.delivered' && event.opens)) &&
      event.turn !== null
    )
      this.#open(event.turn, event.session, event.flow, place, event.deadline, null)
    if (event.type === 'turn.started') this.#change(event.turn, { started: event, activation: event })
    if (event.type === 'session.claimed') this.#change(event.turn, { activation: event })
    if (event.type === 'turn.cancelled') this.#change(event.turn, { stopping: event.outcome })
    if (event.type === 'turn.ended') this.#change(event.turn, { ended: { event, seq: place.seq } })
    if (event.type === 'call.ended')
      this.#change(served(event.call), { callEnded: { event, seq: place.seq } })
  }

  /** Its session was made for it if both were decided together. */
  #call(event: EventOf<'call.opened'>, place: Place, together: readonly Event[]): void {
    const made = together.some(
      (other) =>
        other.type === 'session.created' && other.session === event.target && other.kind === 'ephemeral',
    )
    const history = this.#open(served(event.call), event.target, event.flow, place, null, { ...event, made })
    this.#find(event.turn)?.below.push(history)
  }

  #find = (id: string | null): History | undefined => this.#turns.get(id ?? '')

  #change(id: string | null, more: Partial<History>): void {
    const history = this.#find(id)
    if (history !== undefined) Object.assign(history, more)
  }

  #take({ senderTurn, grant }: EventOf<'message.sent'>): void {
    const sender = this.#find(senderTurn)
    if (sender !== undefined) {
      sender.mailed += grant.tokensMax ?? 0
      sender.mailedMoney += grant.nanoUsdMax ?? 0
    }
  }

  #open(
    id: string,
    session: string,
    flow: string,
    opened: Place,
    deadline: number | null,
    call: History['call'],
  ): History {
    const history: History = {
      id,
      session,
      flow,
      opened,
      deadline,
      call,
      started: null,
      activation: null,
      stopping: null,
      callEnded: null,
      ended: null,
      below: [],
      mailed: 0,
      mailedMoney: 0,
    }
    this.#turns.set(id, history)
    return history
  }

  /** `paid` is what the steps of a turn have cost. */
  render(paid: (turn: string) => number): Map<string, Row> {
    const rows = Array.from(this.#turns.values(), (history) => {
      const row: Row = { ...renderTurn(history), paid: paid(history.id) }
      return [history.id, row] as const
    })
    return new Map(rows)
  }
}

/** A call that ends before its turn has begun takes the turn with it. */
const isOver = (turn: History): boolean =>
  turn.ended !== null || (turn.callEnded !== null && turn.started === null)

const holds = (turn: History): number => turn.call?.grant.tokensMax ?? 0

/** R7: a call holds its tokens until its turn has stopped; then what it used stays, with all below it. */
function countBelow(turn: History): number {
  let sum = turn.mailed
  for (const callee of turn.below) {
    if (holds(callee) === 0) continue
    if (!isOver(callee)) sum += holds(callee)
    else if (callee.ended !== null) sum += callee.ended.event.tokensUsed + countBelow(callee)
  }
  return sum
}

const holdsMoney = (turn: History): number => turn.call?.grant.nanoUsdMax ?? 0

function countMoneyBelow(turn: History): number {
  let sum = turn.mailedMoney
  for (const callee of turn.below) {
    if (holdsMoney(callee) === 0) continue
    if (!isOver(callee)) sum += holdsMoney(callee)
    else if (callee.ended !== null) sum += (callee.ended.event.spent?.nanoUsd ?? 0) + countMoneyBelow(callee)
  }
  return sum
}

function renderTurn(turn: History): Row {
  const { call, opened, started, activation } = turn
  const over = isOver(turn)
  return {
    id: turn.id,
    session: turn.session,
    flow: turn.flow,
    state: over ? 'ended' : started === null ? 'queued' : 'running',
    live: over ? 0 : 1,
    caller: call?.session ?? null,
    caller_turn: call?.turn ?? null,
    pending: call !== null && turn.callEnded === null ? 1 : 0,
    outcome: turn.callEnded?.event.outcome ?? null,
    background: call?.background === true ? 1 : 0,
    call_deadline: call?.deadline ?? 0,
    key: call?.key ?? null,
    node: activation?.node ?? null,
    epoch: activation?.epoch ?? 0,
    deadline: started?.deadline ?? turn.deadline ?? 0,
    stopping: turn.stopping,
    opened_at: opened.at,
    opened_seq: opened.seq,
    ended_seq: turn.callEnded?.seq ?? turn.ended?.seq ?? null,
    made: call?.made === true ? 1 : 0,
    held: holds(turn),
    tokens_used: turn.ended?.event.tokensUsed ?? 0,
    tokens_below: countBelow(turn),
    spent: turn.ended?.event.spent?.nanoUsd ?? 0,
    spent_plan: turn.ended?.event.spent?.plan ?? 0,
    unpriced: turn.ended?.event.spent?.unpriced ?? null,
    usd_held: holdsMoney(turn),
    usd_below: countMoneyBelow(turn),
  }
}
