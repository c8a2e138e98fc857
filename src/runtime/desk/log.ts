/** The log, as anybody may read it: everybody sees the events of the sessions that they may see, and no others. */
import { findAgent } from '../kernel/projects-port.ts'
import type { Nodes } from '../../wire/server.ts'
import type { StoredEvent } from '../../model/event.ts'
import { splitAddress } from '../../model/client-address.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import type { Explanation } from '../../wire/explain.ts'
import type { Flow, FlowEvents, Waits } from '../../wire/log.ts'
import { isThere } from '../kernel/runtime.ts'
import type { Feed, FeedSink } from '../look/feed.ts'
import { explainStall } from '../look/explain.ts'
import type { ExportFile } from '../look/export-log.ts'
import { readFlow, readFlowEvents } from '../look/flow.ts'
import type { FlowSeen, Flows, FlowsQuery } from '../../wire/flows.ts'
import type { Needs } from '../../wire/needs.ts'
import { findFlow } from '../look/find.ts'
import { listFlows, readRemark } from '../look/flows.ts'
import { listNeeds } from '../look/needs.ts'
import { seeFlow } from '../mail/see-flow.ts'
import { onlyUser, refuseAsker, type Asker } from './asker.ts'
import type { Gate } from './gate.ts'
import type { DeskParts } from './parts.ts'
import { createSight, type Sight } from './sight.ts'

export type LogDesk = {
  /** One root request with everything that it caused; null where there is none, or none that may be seen. */
  flow(id: string): Promise<Flow | null>
  /** Which flow is meant by a part of an id, or by `last`; null where none is. */
  findFlow(given: string): Promise<{ id: string } | Refusal | null>
  /** Requests, newest first, one page; a page may be short. */
  flows(ask: FlowsQuery): Promise<Flows | Refusal>
  /** A person has seen how it ended. */
  see(id: string): Promise<FlowSeen | Refusal | null>
  /** Everything that waits for a person. */
  needs(): Promise<Needs | Refusal>
  /** The events of a flow, oldest first, a page at a time. */
  flowEvents(id: string, ask: { after?: number | undefined; limit: number }): Promise<FlowEvents | null>
  /**
   * Why a call, a session or a flow stands still, or ended as it did. Throws an UnknownId where there is none.
   */
  explain(id: string): Promise<Explanation | Refusal>
  /** A call, a session or a flow as a file that replays elsewhere; null is everything. */
  export(id: string | null): Promise<ExportFile | Refusal>
  /** Who waits for whom now. */
  waits(): Promise<Waits | Refusal>
  /** The nodes of the cluster; none where this server has the log to itself. */
  nodes(): Promise<Nodes | Refusal>
  /** The newest event's number. */
  lastSeq(): number
  /** The sessions that are named, if the asker may follow them. */
  named(sessions: readonly string[] | null): Promise<{ sessions: SessionId[] | null } | Refusal>
  /** What the asker sees of a stream of events; null is everything. */
  sight(): Sight | null
  /** Every event after `after`, in order, without gaps, then each as it is committed. The answer ends it. */
  follow(after: number, sessions: readonly SessionId[] | null, sink: FeedSink): () => void
}

/** R11: an answer is held in memory as a whole. */
const exportBytesMax = 256 * 1024 * 1024
const pageDefault = 50

/** Requests in lists, and what waits for the user. */
const requestDesk = (
  { runtime }: DeskParts,
  { who }: Pick<Asker, 'who'>,
): Pick<LogDesk, 'findFlow' | 'flows' | 'see' | 'needs'> => ({
  // What others have asked for must not be found by guessing.
  findFlow: async (given) => (who.kind === 'user' ? findFlow(runtime.lists, given) : { id: given }),
  async flows({ limit = pageDefault, cursor, ...ask }) {
    const refusal = onlyUser(who, 'list requests')
    if (refusal !== null) return refusal
    const before = cursor === undefined ? null : Number(cursor)
    const { flows, next } = await listFlows(runtime, { ...ask, limit, before })
    return { flows, next: next === null ? null : String(next) }
  },
  async see(given) {
    const refusal = onlyUser(who, 'see for the user')
    const found = refusal ?? (await findFlow(runtime.lists, given))
    return found === null || isRefusal(found) ? found : seeFlow(runtime, found.id)
  },
  needs: async () => onlyUser(who, 'see what waits for the user') ?? (await listNeeds(runtime)),
})

export function logDesk(parts: DeskParts, feed: Feed, { who }: Asker, gate: Gate): LogDesk {
  const { runtime } = parts
  const isRun = (row: SessionRow): boolean => isThere(runtime, findAgent(runtime, row), row)
  return {
    ...requestDesk(parts, { who }),
    async flow(id) {
      const flow = await readFlow(runtime, id)
      if (flow === null || !(await gate.sees(flow.root.session))) return null
      if (who.kind === 'user') return flow
      return {
        ...flow,
        calls: await pickSeen(gate, flow.calls, (call) => [call.callerSession, call.targetSession]),
        messages: await pickSeen(gate, flow.messages, ({ from, session }) => [from, session]),
      }
    },
    async flowEvents(id, { after, limit }) {
      const page = await readFlowEvents(runtime.store, id, after ?? 0, limit)
      if (page === null || !(await seesRoot(parts, gate, id))) return null
      const events = await seenEvents(createSight(runtime.store, who), page.events)
      return {
        events: events.map(({ seq, at, event }) => ({
          seq: String(seq),
          at,
          sessionId: event.session,
          event,
        })),
        next: page.next === null ? null : String(page.next),
        upTo: String(page.upTo),
      }
    },
    async explain(id) {
      if (who.kind === 'turn') return refuseAsker(who, 'ask why something stands still')
      const named = splitAddress(id) === null ? null : await gate.find(id)
      if (named !== null && isRefusal(named)) return named
      const now = runtime.clock.now()
      const ports = {
        store: runtime.store,
        now,
        lists: runtime.lists,
        isRun,
        remark: readRemark(runtime),
      }
      const explained = await explainStall(
        who.kind === 'user' ? ports : { ...ports, sees: (session) => gate.sees(session) },
        named?.id ?? id,
      )
      return explained ?? refuseAsker(who, `see ${id}`)
    },
    async export(id) {
      return onlyUser(who, 'export the log') ?? (await parts.exportLog(id, exportBytesMax))
    },
    async waits() {
      const refusal = onlyUser(who, 'see who waits for whom')
      if (refusal !== null) return refusal
      const rows = await runtime.lists.waits()
      return { waits: rows.map((row) => ({ ...row, kind: row.call === null ? 'wait' : 'call' })) }
    },
    nodes: async () => onlyUser(who, 'see the nodes') ?? { nodes: (await runtime.place?.nodes()) ?? [] },
    lastSeq: () => runtime.store.lastSeq(),
    named: (given) => findNamed(gate, given),
    sight: () => createSight(runtime.store, who),
    follow: (after, sessions, sink) => feed.subscribe(after, { sessions }, sink),
  }
}

/** Those that are named, if the asker may follow them. */
async function findNamed(
  gate: Gate,
  given: readonly string[] | null,
): Promise<{ sessions: SessionId[] | null } | Refusal> {
  if (gate.who.kind === 'turn') return refuseAsker(gate.who, 'follow events')
  if (given === null) return { sessions: null }
  const sessions: SessionId[] = []
  for (const name of given) {
    const found = await gate.find(name)
    if (isRefusal(found)) return found
    sessions.push(found.id)
  }
  return { sessions }
}

/** The root's first event says in which session a flow began. */
async function seesRoot({ runtime }: DeskParts, gate: Gate, flow: string): Promise<boolean> {
  if (gate.who.kind === 'user') return true
  const first = (await readFlowEvents(runtime.store, flow, 0, 1))?.events[0]?.event
  return first !== undefined && gate.sees(first.session)
}

/** Those of which one side may be seen. */
async function pickSeen<T>(
  gate: Gate,
  all: readonly T[],
  sides: (one: T) => readonly (string | null)[],
): Promise<T[]> {
  const seen: T[] = []
  for (const one of all)
    for (const session of sides(one))
      if (session !== null && (await gate.sees(session as SessionId))) {
        seen.push(one)
        break
      }
  return seen
}

async function seenEvents(
  sight: Sight | null,
  events: readonly StoredEvent[],
): Promise<readonly StoredEvent[]> {
  if (sight === null) return events
  const seen: StoredEvent[] = []
  for (const stored of events) {
    if (sight.known(stored.event) === null) await sight.learn(stored.event.session)
    if (sight.sees(stored.event.session)) seen.push(stored)
  }
  return seen
}
