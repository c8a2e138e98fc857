/**
 * The runtime as far as every room needs it: the ports that everything stands on, and what this node runs and
 * waits for. A higher room adds what it needs beyond this in a `Runtime` of its own (`look/runtime.ts`,
 * `turns/runtime.ts`, `calls/runtime.ts`, `sessions/runtime.ts`), so that its functions say whose business they
 * are, and reach nothing else. The acts are functions over these.
 */
import type { FewAtOnce } from './few-at-once.ts'
import type { FewEachRound } from './few-each-round.ts'
import type { Agent } from '../../model/agent.ts'
import type { Limits } from '../../model/limits.ts'
import type { EventOf } from '../../model/event.ts'
import type { Answer } from '../../model/question.ts'
import type { SessionRow, TurnRow } from '../../model/facts.ts'
import type { CallId, Millis, NodeId, SessionId, TurnId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import type { CountTokens } from '../../model/text.ts'
import type { NodeView } from '../../wire/server.ts'
import type { WakeSettings } from '../../model/wake.ts'
import type { Alarm } from './alarm.ts'
import type { DaySpending } from './day-spending.ts'
import type { Drain } from './drain.ts'
import type { KeptTime } from './kept-time.ts'
import type { Acts, Agents, Clock, Driver, Ids } from './ports.ts'
import type { Projects } from './projects-port.ts'
import type { Recorded } from './recorded.ts'
import type { Running } from './running.ts'
import type { Store } from './store-port.ts'

export type Runtime = {
  store: Store
  clock: Clock
  ids: Ids
  /** The user's own, and those that doors made. A directory may have more: `inProject`. */
  agents: Agents
  limits: Limits
  /** Without it every directory is the same. */
  projects?: Projects
  count: CountTokens
  /** Who sends what agents write to each other: they themselves, or a person, until whom it stays a draft. */
  release?: 'agents' | 'person'
  /** Whether this node may run the turns of a session; without it there is only this one. */
  place?: Place
  /** How long others wait for a node that says nothing any more. */
  leaseMs?: number
  /** When open sessions of clients are told of their mail. */
  wake?: WakeSettings
  /** Faults that no caller is left to hear of. */
  report: (fault: unknown) => void
  readonly node: NodeId
  readonly alarm: Alarm
  readonly spending: DaySpending
  /** Limits of what runs, waits or was called here. */
  readonly kept: KeptTime
  /** Turns whose driver runs here. */
  readonly running: Map<TurnId, Running>
  /** A program that one turn started works in another now: the token of the first means the second. */
  readonly continues: ReadonlyMap<TurnId, TurnId>
  /** Who waits here for a call, and for a turn. */
  readonly callWaiters: Map<CallId, Set<(ended: EventOf<'call.ended'>) => void>>
  readonly turnWaiters: Map<TurnId, Set<(ended: EventOf<'turn.ended'>) => void>>
  /** Turns that were spoken to before they ran here. */
  readonly steeredEarly: Set<TurnId>
  /**
   * Turns that this node is just starting, committed perhaps, but not yet among those that run; and how many works say
   * so of each.
   */
  readonly starting: Map<TurnId, number>
  /** Sessions whose start or claim broke off: only looking tells what became of it. */
  readonly brokenOff: Set<SessionId>
  /** Of one flow only a few calls are decided at a time. */
  readonly opening: FewAtOnce
  /** Of one flow only a few tools begin in one round of the event loop. */
  readonly beginning: FewEachRound
  /** Clients here that wait for a client's turn: called when an activation of it could not be recorded. */
  readonly unrecordedWaiters: Map<TurnId, Set<(fault: unknown) => void>>
  /** Calls in the background whose results their callers have read: they are not told of them. */
  readonly readResults: Set<CallId>
  /** Programs that the user has open and that this node hears of. */
  readonly presence: Map<SessionId, Presence>
  /** Aborts when this node stops: nothing more is started or recorded. */
  readonly stopping: AbortController
  /** Told then: listeners of a signal are slow to take back where there are thousands. */
  readonly atStop: Set<() => void>
  /** Before that, where other nodes can go on. */
  readonly drain: Drain
  readonly rooms: HigherRooms
}

/** What a program that the user has open does; times are elapsed ones. */
export type Presence = {
  state: 'working' | 'idle'
  heardAt: Millis
  /** When the last that waited for its mail went away. */
  leftAt: Millis | null
  /** Who waits for its mail; the next one takes its place. */
  waiter: AbortController | null
  readonly onChange: Set<() => void>
}

/** `by` is who answered, or why nobody did; `reason` is what a person said about it. */
export type PersonAnswer = { answer: Answer; by: string; reason: string | null }

/** Where a session's turns may run: its agent may want a label, and its directory is on some machine. */
export type Place = {
  mayRun(agent: Agent | undefined, cwd: string): boolean
  /** All nodes that said something lately. */
  nodes(): Promise<NodeView[]>
  /**
   * Reads what others have recorded up to now, so that a client sees here what it was acknowledged elsewhere.
   * Never rejects: while the store is away, what is here has to do.
   */
  catchUp(): Promise<void>
}

/** What the kernel and the turns ask of the rooms above them. */
export type HigherRooms = {
  /** Asks a person whether a tool may be used, and waits for the answer. */
  askPerson(
    running: Running,
    tool: string,
    input: Json,
    key: string,
    gone?: AbortSignal,
  ): Promise<PersonAnswer>
  /** What drives the turn of a client; undefined where the session's own agent does. */
  driverOfClient(running: Running): Driver | undefined
  /** What the tools of a turn may do. `gone`: for a program that may go away. */
  createActs(running: Running, gone?: AbortSignal): Acts
  /** Runs a turn that this node has just started or taken over. */
  start(row: TurnRow, session: SessionRow, input: Running['input'], recorded: Recorded | null): void
}

/** The turn that a token speaks for, if it runs here. */
export const findRunning = ({ running, continues }: Runtime, turn: TurnId): Running | undefined =>
  running.get(turn) ?? running.get(continues.get(turn) ?? turn)

/** Whether this node still starts turns and takes them over: no more once it stops, or hands over to others. */
export const takesTurns = ({ drain, stopping }: Pick<Runtime, 'drain' | 'stopping'>): boolean =>
  !drain.isOn && !stopping.signal.aborted

/** Whether what runs a session's turns is there; until then they wait in its queue. */
export const isThere = (
  runtime: Runtime,
  agent: Agent | undefined,
  { id, cwd }: Pick<SessionRow, 'id' | 'cwd'>,
): boolean =>
  takesTurns(runtime) &&
  (runtime.place?.mayRun(agent, cwd) ?? true) &&
  (agent === undefined || (runtime.agents.isThere?.(agent, id) ?? true))

/**
 * Calls `told` when this node stops, or now where it has; the returned function takes it away. The alarm rings no
 * more then, so that whoever waits by it has to listen for this too.
 */
export function listenForStop(
  { stopping, atStop }: Pick<Runtime, 'stopping' | 'atStop'>,
  told: (reason: unknown) => void,
): () => void {
  const stopped = (): void => told(stopping.signal.reason)
  if (stopping.signal.aborted) stopped()
  else atStop.add(stopped)
  return () => void atStop.delete(stopped)
}

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
