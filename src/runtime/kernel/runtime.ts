/**
 * One node of the runtime: what it runs, what it waits for, and the ports it stands on. The acts are
 * functions over this.
 */
import type { Agent } from '../../model/agent.ts'
import type { Limits } from '../../model/limits.ts'
import type { Answer, EventOf, Outcome, StoredEvent } from '../../model/event.ts'
import type { SessionRow, TurnRow } from '../../model/facts.ts'
import type { CallId, FlowId, NodeId, SessionId, TurnId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import type { CountTokens } from '../../model/text.ts'
import type { Sampling } from '../../model/trace.ts'
import { createAlarm, type Alarm } from './alarm.ts'
import type { KeptTime } from './kept-time.ts'
import type { Lists } from './lists-port.ts'
import type { Store } from './store-port.ts'
import type {
  Acts,
  Agents,
  Clock,
  DescribeWorkspace,
  Driver,
  Ids,
  Schemas,
  Summarise,
  Tools,
} from './ports.ts'
import type { Recorded } from './recorded.ts'
import type { Running } from './running.ts'
import type { Delta } from '../../wire/log.ts'

export type RuntimePorts = {
  store: Store
  /** For looking around; nothing is decided by it. */
  lists: Lists
  clock: Clock
  ids: Ids
  agents: Agents
  tools: Tools
  limits: Limits
  count: CountTokens
  summarise: Summarise
  describeWorkspace: DescribeWorkspace
  schemas: Schemas
  /** The agent that `subagent` runs; null is the caller's own definition. */
  subagent: string | null
  /** Whether somebody can be asked for leave: otherwise tools under `ask` are refused at once. */
  asks: boolean
  /** Which traces are exported; null or left out: none. */
  sampling?: Sampling | null
  /** Faults that no caller is left to hear of. */
  report: (fault: unknown) => void
}

export type Runtime = RuntimePorts & {
  readonly node: NodeId
  readonly alarm: Alarm
  /** Limits of what runs, waits or was called here. */
  readonly kept: KeptTime
  /** Turns whose driver runs here. */
  readonly running: Map<TurnId, Running>
  /** Who waits here for a call, for a turn, and for a session to come to rest. */
  readonly callWaiters: Map<CallId, Set<(ended: EventOf<'call.ended'>) => void>>
  readonly turnWaiters: Map<TurnId, Set<(ended: EventOf<'turn.ended'>) => void>>
  readonly deltaListeners: Set<(delta: Delta) => void>
  /** Sessions that a claim is under way for, so that many hints make one claim. */
  readonly claiming: Set<SessionId>
  /** Sessions with a turn that runs here, for which something more was queued. */
  readonly queued: Set<SessionId>
  /** Turns that this node is just starting: committed perhaps, but not yet among those that run. */
  readonly starting: Set<TurnId>
  /** Sessions whose start or claim broke off: only looking tells what became of it. */
  readonly brokenOff: Set<SessionId>
  /** How far the sweep has looked through what is due, so that it goes on there and not at the beginning. */
  readonly swept: { to: SessionId | null }
  /** Turns that were told to stop before they were here. */
  readonly stoppedEarly: Map<TurnId, Outcome>
  /** What clients outside do in their own turns, in place of a driver. */
  readonly clients: Map<TurnId, Driver>
  /** How many clients here wait for a client's turn: the first try, and retries of it. */
  readonly attached: Map<TurnId, number>
  /** Clients here that wait for a client's turn: called when an activation of it could not be recorded. */
  readonly unrecordedWaiters: Map<TurnId, Set<(fault: unknown) => void>>
  /** Who waits here for an answer to a question. */
  readonly questionWaiters: Map<string, Set<() => void>>
  /** Traces that flows were begun with, while their roots run here. */
  readonly traces: Map<FlowId, string>
  /** What is recorded of turns whose record somebody here waits for, as it is committed. */
  readonly heard: Map<TurnId, StoredEvent[]>
  /** Told when this node stops. */
  readonly atStop: Set<() => void>
  /** Aborts when this node stops: nothing more is started or recorded. */
  readonly stopping: AbortController
  readonly rooms: HigherRooms
}

/** What the kernel and the turns ask of the rooms above them. */
export type HigherRooms = {
  /** Asks a person whether a tool may be used, and waits for the answer. */
  readonly askPerson: (
    runtime: Runtime,
    running: Running,
    tool: string,
    input: Json,
    key: string,
  ) => Promise<{ answer: Answer; by: string }>
  /** What the tools of a turn may do. */
  readonly createActs: (runtime: Runtime, running: Running) => Acts
  /** Runs a turn that this node has just started or taken over. */
  readonly start: (
    row: TurnRow,
    session: SessionRow,
    input: Running['input'],
    recorded: Recorded | null,
  ) => void
}

export function createRuntime(ports: RuntimePorts, rooms: HigherRooms): Runtime {
  return {
    ...ports,
    node: `node_${ports.ids.next()}`,
    alarm: createAlarm(ports.clock, true, ports.report),
    kept: new Map(),
    running: new Map(),
    callWaiters: new Map(),
    turnWaiters: new Map(),
    deltaListeners: new Set(),
    claiming: new Set(),
    queued: new Set(),
    stoppedEarly: new Map(),
    starting: new Set(),
    atStop: new Set(),
    clients: new Map(),
    attached: new Map(),
    unrecordedWaiters: new Map(),
    traces: new Map(),
    heard: new Map(),
    questionWaiters: new Map(),
    brokenOff: new Set(),
    swept: { to: null },
    stopping: new AbortController(),
    rooms,
  }
}

/** Whether what runs a session's turns is there; until then they wait in its queue. */
export const isThere = (runtime: Runtime, agent: Agent | undefined, session: SessionId): boolean =>
  agent === undefined || (runtime.agents.isThere?.(agent, session) ?? true)

/** Adds a listener under a key; the returned function takes it away, and the key with the last one. */
export function listen<K, F>(map: Map<K, Set<F>>, key: K, listener: F): () => void {
  let set = map.get(key)
  if (set === undefined) {
    set = new Set()
    map.set(key, set)
  }
  set.add(listener)
  return () => {
    set.delete(listener)
    if (set.size === 0 && map.get(key) === set) map.delete(key)
  }
}
