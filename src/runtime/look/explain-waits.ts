/** Who waits for whom or what: calls, waits, queues, people, programs that are away, held tokens. */
import { externalAgent } from '../../model/agent.ts'
import type { EventOf, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { toTurnId, type SessionId, type TurnId } from '../../model/id.ts'
import { sessionTurnsMax } from '../../model/limits.ts'
import { preview } from '../../model/text.ts'
import type { ExplainedWait } from '../../wire/explain.ts'
import type { ExplainPorts, Live } from './explain-ports.ts'

const taskPoints = 80
type Wait = ExplainedWait

export async function listWaits(
  ports: ExplainPorts,
  live: readonly Live[],
  events: readonly StoredEvent[],
): Promise<Wait[]> {
  const waits: Wait[] = []
  const rows = live.map(({ row }) => row)
  const opened = new Map(
    events.flatMap(({ event }) =>
      event.type === 'call.opened' ? [[toTurnId(event.call), event] as const] : [],
    ),
  )
  const agents = new Map(rows.map((row) => [row.id, row.grant.agent]))
  for (const one of live) {
    const task = preview(opened.get(one.row.id)?.task ?? '', taskPoints)
    waits.push(
      ...waitOfCaller(one.row, task, agents),
      ...(one.row.state === 'queued'
        ? await waitInQueue(ports, one, task)
        : await waitsOfRunning(ports, one, rows, events)),
    )
  }
  return waits.toSorted((a, b) => a.since - b.since)
}

const waitOf = (row: TurnRow, by: Wait['by'], more: Partial<Wait>): Wait => ({
  agent: row.grant.agent,
  session: row.session,
  turn: row.id,
  by,
  forAgent: '',
  forSession: '',
  forTurn: null,
  call: null,
  question: null,
  tool: null,
  ahead: 0,
  task: '',
  since: row.openedAt,
  deadline: null,
  ...more,
})

/** The caller of a pending call is blocked in it. A client's turn does nothing but wait, also in the background. */
const isBlocking = ({ call, grant }: TurnRow): boolean =>
  call?.pending === true && (!call.background || grant.path.at(-2)?.agent === externalAgent.name)

function waitOfCaller(row: TurnRow, task: string, agents: ReadonlyMap<TurnId, string>): Wait[] {
  const { call } = row
  if (call === null || !isBlocking(row)) return []
  return [
    waitOf(row, 'call', {
      agent: agents.get(call.callerTurn) ?? row.grant.path.at(-2)?.agent ?? '',
      session: call.caller,
      turn: call.callerTurn,
      forAgent: row.grant.agent,
      forSession: row.session,
      forTurn: row.id,
      call: call.id,
      task,
      deadline: call.deadline,
    }),
  ]
}

/** Behind the turn before it; or for the program or the server that would run it. */
async function waitInQueue(ports: ExplainPorts, { row, session }: Live, task: string): Promise<Wait[]> {
  const { running } = await ports.store.sessionFacts(row.session)
  const waiting = await ports.store.turns({ session: row.session }, sessionTurnsMax)
  const ahead = waiting.filter((other) => other.state !== 'ended' && other.openedSeq < row.openedSeq).length
  const absent =
    ports.isRun === null ? 'server' : session !== null && !ports.isRun(session) ? 'program' : null
  return [
    waitOf(row, running === null && absent !== null ? absent : 'queue', {
      forAgent: running?.grant.agent ?? '',
      forSession: row.session,
      forTurn: running?.id ?? null,
      call: row.call?.id ?? null,
      ahead,
      task,
      deadline: row.call?.deadline ?? (row.deadline > 0 ? row.deadline : null),
    }),
  ]
}

async function waitsOfRunning(
  ports: ExplainPorts,
  { row, session }: Live,
  rows: readonly TurnRow[],
  events: readonly StoredEvent[],
): Promise<Wait[]> {
  if (ports.isRun === null) return [waitOf(row, 'server', { since: lastAt(row, events) })]
  const waits = [...waitsForOthers(row, rows, events), ...waitsForPerson(row, events)]
  if (waits.length > 0 || row.stopping !== null) return waits
  const isBlocked = rows.some((other) => other.call?.callerTurn === row.id && isBlocking(other))
  if (isBlocked) return []
  if (session !== null && session.kind !== 'external' && !ports.isRun(session))
    return [waitOf(row, 'program', { forSession: row.session, since: lastAt(row, events) })]
  return waitsForTokens(row, rows, events)
}

const lastAt = (row: TurnRow, events: readonly StoredEvent[]): number =>
  events.findLast(({ event }) => event.turn === row.id)?.at ?? row.openedAt

function waitsForOthers(row: TurnRow, rows: readonly TurnRow[], events: readonly StoredEvent[]): Wait[] {
  const open = new Map<SessionId, { at: number; event: EventOf<'wait.started'> }>()
  for (const { at, event } of events) {
    if (event.turn !== row.id) continue
    if (event.type === 'wait.started') open.set(event.target, { at, event })
    if (event.type === 'wait.ended') open.delete(event.target)
  }
  return [...open.values()].map(({ at, event }) => {
    const target = rows.find((other) => other.session === event.target)
    return waitOf(row, 'wait', {
      forAgent: target?.grant.agent ?? '',
      forSession: event.target,
      forTurn: target?.id ?? null,
      call: target?.call?.id ?? null,
      since: at,
      deadline: event.until,
    })
  })
}

function waitsForPerson(row: TurnRow, events: readonly StoredEvent[]): Wait[] {
  const open = new Map<string, Wait>()
  for (const { at, event } of events) {
    if (event.turn !== row.id) continue
    if (event.type === 'question.asked') {
      const { question, tool, deadline } = event
      open.set(question, waitOf(row, 'person', { question, tool, since: at, deadline }))
    }
    if (event.type === 'question.answered') open.delete(event.question)
  }
  return [...open.values()]
}

/** R7: what a call held comes back when it has stopped; its caller waits for that. */
function waitsForTokens(row: TurnRow, rows: readonly TurnRow[], events: readonly StoredEvent[]): Wait[] {
  const { tokensMax } = row.grant
  if (tokensMax === null || row.tokensUsed + row.tokensBelow < tokensMax) return []
  const holder = rows.find(
    ({ call, state }) => call?.callerTurn === row.id && !call.pending && state === 'running',
  )
  if (holder === undefined) return []
  return [
    waitOf(row, 'tokens', {
      forAgent: holder.grant.agent,
      forSession: holder.session,
      forTurn: holder.id,
      call: holder.call?.id ?? null,
      since: lastAt(row, events),
    }),
  ]
}
