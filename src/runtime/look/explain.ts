/**
 * Why did it stall? From the log: who waits for whom since when and until when, what ended what, and what was
 * refused.
 */
import type { EventOf, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { toTurnId, type SessionId, type TurnId } from '../../model/id.ts'
import { preview } from '../../model/text.ts'
import type { Store } from '../kernel/store-port.ts'
import { readScope, findScope, type LogReader, type ScopeKind } from '../kernel/scope.ts'
import { type Ended, type Refused, listEnds, listRefusals } from './explain-ends.ts'

/** `seconds` and texts are worked out against `now`, the time of asking. */
export type Wait = {
  agent: string
  session: string
  turn: string
  /**
   * `call`: blocked in a call. `wait`: in wait_for_call. `queue`: not started, because its session is busy.
   */
  by: 'call' | 'wait' | 'queue'
  /** The session and agent that it waits for, and the turn there. */
  forAgent: string
  forSession: string
  forTurn: string | null
  call: string | null
  task: string
  since: number
  deadline: number | null
}

/** A turn that waits for nobody and has not ended: this is where it stands still, or works. */
export type Busy = {
  agent: string
  session: string
  turn: string
  doing: string
  since: number
  deadline: number
  stopping: string | null
  node: string | null
}
export type Explanation = {
  id: string
  kind: ScopeKind
  now: number
  /** Nothing is left to wait for. */
  over: boolean
  waits: Wait[]
  busy: Busy[]
  /** Ends that were no answers. */
  ended: Ended[]
  refused: Refused[]
}

/** R11: how far a chain of waits is followed into other flows. */
const hopsMax = 64
const taskPoints = 80

export type ExplainStore = LogReader & Pick<Store, 'sessionFacts'>

export async function explainStall(store: ExplainStore, id: string, now: number): Promise<Explanation> {
  const scope = await findScope(store, id)
  const events = await readScope(store, scope.turns)
  const live = new Map<TurnId, TurnRow>()
  for (const row of scope.turns) if (row.state !== 'ended') live.set(row.id, row)
  await followOthers(store, live)
  const known = [...live.values()].filter((row) => !scope.turns.some((turn) => turn.id === row.id))
  const all = known.length === 0 ? events : [...events, ...(await readScope(store, known))]
  const waits = await listWaits(store, [...live.values()], all)
  const blocked = new Set(waits.map((wait) => wait.turn))
  const busy = [...live.values()]
    .filter((row) => row.state === 'running' && !blocked.has(row.id))
    .map((row) => describeBusy(row, all))
  return {
    id,
    kind: scope.kind,
    now,
    over: live.size === 0,
    waits,
    busy,
    ended: listEnds(events, scope.turns),
    refused: listRefusals(events),
  }
}

/**
 * Whoever is queued waits for the turn before it, perhaps of another flow, and for whatever that one waits
 * for.
 */
async function followOthers(store: ExplainStore, live: Map<TurnId, TurnRow>): Promise<void> {
  const todo = [...live.values()]
  for (let hops = 0; hops < hopsMax; hops += 1) {
    const row = todo.shift()
    if (row === undefined) return
    const before = row.state === 'queued' ? (await store.sessionFacts(row.session)).running : null
    const below = row.state === 'running' ? await store.turns({ callerTurn: row.id }, hopsMax) : []
    for (const next of [...(before === null ? [] : [before]), ...below]) {
      if (live.has(next.id) || next.state === 'ended') continue
      live.set(next.id, next)
      todo.push(next)
    }
  }
}

async function listWaits(
  store: ExplainStore,
  rows: readonly TurnRow[],
  events: readonly StoredEvent[],
): Promise<Wait[]> {
  const waits: Wait[] = []
  const opened = new Map(
    events.flatMap(({ event }) =>
      event.type === 'call.opened' ? [[toTurnId(event.call), event] as const] : [],
    ),
  )
  const agents = new Map(rows.map((row) => [row.id, row.grant.agent]))
  for (const row of rows) {
    const call = row.call
    const task = preview(opened.get(row.id)?.task ?? '', taskPoints)
    if (call !== null && call.pending && !call.background) {
      waits.push({
        agent: agents.get(call.callerTurn) ?? row.grant.path.at(-2)?.agent ?? '',
        session: call.caller,
        turn: call.callerTurn,
        by: 'call',
        forAgent: row.grant.agent,
        forSession: row.session,
        forTurn: row.id,
        call: call.id,
        task,
        since: row.openedAt,
        deadline: call.deadline,
      })
    }
    if (row.state === 'queued') {
      const before = (await store.sessionFacts(row.session)).running
      waits.push({
        agent: row.grant.agent,
        session: row.session,
        turn: row.id,
        by: 'queue',
        forAgent: row.grant.agent,
        forSession: row.session,
        forTurn: before?.id ?? null,
        call: call?.id ?? null,
        task,
        since: row.openedAt,
        deadline: call?.deadline ?? null,
      })
    }
    for (const { at, event } of openWaits(row.id, events)) {
      const target = rows.find((other) => other.session === event.target)
      waits.push({
        agent: row.grant.agent,
        session: row.session,
        turn: row.id,
        by: 'wait',
        forAgent: target?.grant.agent ?? '',
        forSession: event.target,
        forTurn: target?.id ?? null,
        call: target?.call?.id ?? null,
        task: '',
        since: at,
        deadline: event.until,
      })
    }
  }
  return waits.toSorted((a, b) => a.since - b.since)
}

function openWaits(
  turn: TurnId,
  events: readonly StoredEvent[],
): { at: number; event: EventOf<'wait.started'> }[] {
  const open = new Map<SessionId, { at: number; event: EventOf<'wait.started'> }>()
  for (const { at, event } of events) {
    if (event.turn !== turn) continue
    if (event.type === 'wait.started') open.set(event.target, { at, event })
    if (event.type === 'wait.ended') open.delete(event.target)
  }
  return [...open.values()]
}

/** What a turn did last, as far as it was recorded. */
function describeBusy(row: TurnRow, events: readonly StoredEvent[]): Busy {
  const last = events.findLast(({ event }) => event.turn === row.id && event.type !== 'turn.cancelled')
  const place = {
    agent: row.grant.agent,
    session: row.session,
    turn: row.id,
    since: last?.at ?? row.openedAt,
    deadline: row.call === null ? row.deadline : Math.min(row.deadline, row.call.deadline),
    stopping: row.stopping,
    node: row.node,
  }
  return { ...place, doing: describeStep(last?.event) }
}

function describeStep(event: StoredEvent['event'] | undefined): string {
  switch (event?.type) {
    case 'step.started':
      return `runs the tool ${event.name}, which was announced and has no result yet`
    case 'step.ended':
      return event.kind === 'tool'
        ? `has the result of ${event.name}, and asks its driver what to do next`
        : `has an answer of ${event.name}, and goes on with it`
    case 'call.ended':
      return `has the end of a call (${event.outcome}), and goes on with it`
    case 'call.refused':
      return `was refused a call to ${event.agent} (${event.refusal.code}), and goes on without it`
    case 'turn.suspended':
      return 'was left when the server was stopped, and goes on when it runs again'
    case 'session.claimed':
      return 'was taken up again after the process that ran it was gone, and goes on from its record'
    case 'question.asked':
      return `asks a person whether it may use ${event.tool}`
    case 'question.answered':
      return `was answered by a person (${event.answer}), and goes on`
    case undefined:
    case 'session.cancelled':
    case 'session.forked':
    case 'message.drafted':
    case 'message.revised':
    case 'message.released':
    case 'message.accepted':
    case 'message.delivered':
    case 'message.answered':
    case 'message.declined':
    case 'message.died':
    case 'agent.created':
    case 'agent.deleted':
    case 'session.adopted':
    case 'session.renamed':
    case 'session.created':
    case 'session.archived':
    case 'message.sent':
    case 'turn.started':
    case 'turn.cancelled':
    case 'turn.ended':
    case 'call.opened':
    case 'wait.started':
    case 'wait.ended':
    case 'notice.raised':
      return 'has begun, and nothing that it did is recorded yet: it waits for its model or driver'
  }
}
