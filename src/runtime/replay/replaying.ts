/**
 * A recorded turn that is being run again: what it was, what it stands on, and the sink that stands in for
 * the store.
 */
import type { Event, EventOf, StoredEvent } from '../../model/event.ts'
import type { SessionRow, TurnRow } from '../../model/facts.ts'
import { canonical, type Json } from '../../model/json.ts'
import type { Limits } from '../../model/limits.ts'
import { noClient } from '../../model/presence.ts'
import { isAlikeButMarks } from '../../model/secret-mark.ts'
import type { CountTokens } from '../../model/text.ts'
import type { Runtime } from '../sessions/runtime.ts'
import type { Lists } from '../kernel/lists-port.ts'
import type { PersonAnswer } from '../kernel/runtime.ts'
import type { Store, Tx } from '../kernel/store-port.ts'
import type { Agents, Clock, Schemas, Tools } from '../kernel/ports.ts'
import type { Projects } from '../kernel/projects-port.ts'
import { isOlderWording, type RecordedCall } from '../kernel/recorded.ts'
import type { Gate } from './replay-gate.ts'
import { historyThen, openFactsThen, restingSession } from './replay-facts.ts'
import type { Running } from '../kernel/running.ts'
import type { LogReader, ScopeReader } from '../kernel/scope.ts'

export type ReplayPorts = {
  store: ScopeReader
  agents: Agents
  /** Without it every directory is the same. */
  projects?: Projects
  /**
   * Only described, never run, but for the calling tools, which translate between a model and the runtime.
   */
  tools: Tools
  limits: Limits
  count: CountTokens
  subagent: string | null
  artifactKinds?: readonly string[]
  schemas: Schemas
  clock: Clock
  /** How long nothing may move before a turn counts as stuck. */
  quietMs?: number
}

/** What counted where a turn worked, as far as it still stands there. */
export function portsIn(ports: ReplayPorts, cwd: string): ReplayPorts {
  const seen = ports.projects?.look(cwd)
  if (seen === undefined) return ports
  const { agents, limits, subagent, artifactKinds, standardTools } = seen
  return { ...ports, agents, limits, subagent, artifactKinds, tools: { of: async () => standardTools } }
}

export type RecordedTurn = {
  row: TurnRow
  session: SessionRow
  input: Running['input']
  /** Its steps and calls, in order. */
  timeline: readonly StoredEvent[]
  ended: EventOf<'turn.ended'> | null
  /** The end of the call that it served. */
  ownEnd: StoredEvent | null
  cancelled: StoredEvent | null
  /** What a person answered, by the key of the step. */
  answers: Map<string, PersonAnswer>
}

/** Where the turn left its record: what was recorded, and what it wanted instead. */
export type Departure = { why: string; recorded: Event | null; asked: string | null }

export type Rerun = {
  events: Event[]
  departure: Departure | null
  /** Why only what came before is compared; null where the whole turn is. */
  stop: string | null
  notes: string[]
  /**
   * Keys under which recorded events were asked for, where a secret was taken out of what they were made
   * from.
   */
  keys: Map<Event, string>
}

/** A turn while it is run again. */
export type Replaying = {
  ports: ReplayPorts
  turn: RecordedTurn
  runtime: Runtime
  gate: Gate
  rerun: Rerun
  says: boolean
  redacted: boolean
  seqs: Map<Event, StoredEvent>
  running(): Running
  end(): void
}

/** A replay looks around nowhere: what was seen then is in the record. */
export const noLists = new Proxy({} as Lists, {
  get: () => () => Promise.reject(new Error('a replay has no lists')),
})

/** Answers facts, keeps what is appended. */
export function createReplaySink(of: () => Replaying): Store {
  const read = (): LogReader => of().ports.store
  const none = async (): Promise<never> => Promise.reject(new Error('a replay has no such thing'))
  return {
    transact: (_keys, work) => transactThen(of(), work, null),
    read: (...given) => read().read(...given),
    turn: (id) => read().turn(id),
    turns: (...given) => read().turns(...given),
    session: (id) => read().session(id),
    event: (seq) => read().event(seq),
    refused: (call) => read().refused(call),
    spentOn: async () => [],
    entriesByNumber: (...given) => read().entriesByNumber(...given),
    entries: (session, { tokensMax }) => historyThen(read(), session, of().turn.session.entries, tokensMax),
    lastSeq: () => 0,
    health: () => ({ state: 'ok' }),
    onHint: () => () => undefined,
    sessionFacts: async () => restingSession,
    sessions: async () => [],
    heartbeat: none,
    due: none,
    close: async () => undefined,
  }
}

/** `call` is the recorded call that this decides about. */
export async function transactThen<T>(
  replaying: Replaying,
  work: (tx: Tx) => Promise<T>,
  call: StoredEvent | null,
): Promise<T> {
  const { turn, gate, rerun, ports } = replaying
  const appended: Event[] = []
  const at = call?.at ?? turn.row.openedAt
  const answered = turn.ownEnd?.event.type === 'call.ended' && turn.ownEnd.event.cause === 'answered'
  const value = await work({
    now: at,
    turn: async () => null,
    session: async () => restingSession,
    permitted: async () => false,
    seen: async () => false,
    below: async () => [],
    activation: async () => ({
      state: 'running',
      node: turn.row.node,
      epoch: turn.row.epoch,
      stopping: null,
      pending: answered,
      outcome: answered ? null : 'cancelled',
      tokensUsed: 0,
      tokensBelow: 0,
      nanoUsdBelow: 0,
    }),
    open: async ({ target }) => {
      if (call === null) return null
      const recorded = call.event as RecordedCall
      const before = (stored: StoredEvent | null): Event | null =>
        stored !== null && stored.seq < call.seq ? stored.event : null
      const [ownEnd, cancelled] = [before(turn.ownEnd), before(turn.cancelled)]
      return openFactsThen(replaying.running(), target === null ? null : await ports.store.session(target), {
        recorded,
        at,
        ownEnd: ownEnd?.type === 'call.ended' ? ownEnd : null,
        cancelled: cancelled?.type === 'turn.cancelled' ? cancelled : null,
        targetAgent: recorded.type === 'call.opened' ? ports.agents.get(recorded.grant.agent) : undefined,
      })
    },
    send: () => Promise.reject(new Error('a replay sends nothing')),
    question: async () => null,
    notices: async () => (call?.event.type === 'call.opened' ? (call.event.notices ?? null) : null),
    traced: async () => null,
    announced: async () => new Set(),
    woken: async () => 0,
    client: async () => noClient,
    message: async () => null,
    inbox: async () => [],
    accepted: async () => null,
    mail: async () => ({ session: null, pending: false, waiting: 0, drafts: 0 }),
    append: (...events) => void appended.push(...events),
  })
  for (const event of appended) {
    if (event.type !== 'step.started') continue
    const known = reserveStep(replaying, 'step.started', 'tool', event.name, event.key, event.input)
    await (known === undefined ? gate.stray('tool', canonical(event)) : gate.reach(known))
  }
  // What was waiting to be recorded may be recorded before the call is decided.
  const decides = (event: Event): boolean => event.type === 'call.opened' || event.type === 'call.refused'
  if (call !== null && appended.some(decides)) await gate.reach(call.event)
  rerun.events.push(...appended)
  if (appended.some((event) => event.type === 'turn.ended')) replaying.end()
  return value
}

/**
 * By key; where a secret was taken out of the record, keys cannot be the same, and the next step of that name
 * is taken.
 */
export function reserveStep<T extends 'step.started' | 'step.ended'>(
  replaying: Replaying,
  type: T,
  kind: string,
  name: string,
  key: string,
  input: Json | undefined,
): EventOf<T> | undefined {
  const { gate, rerun, redacted } = replaying
  const exact = gate.reserve(
    (event): event is EventOf<T> =>
      event.type === type && (event as EventOf<'step.ended'>).key.split('#')[0] === key.split('#')[0],
  )
  const found =
    exact ??
    gate.reserve(
      (event): event is EventOf<T> =>
        event.type === type && isOlderWording({ kind, name, key }, event as EventOf<'step.ended'>),
    )
  if (found !== exact && found !== undefined) rerun.keys.set(found, key)
  if (found !== undefined || !redacted) return found
  const near = gate.reserve(
    (event): event is EventOf<T> =>
      event.type === type &&
      (event as EventOf<'step.ended'>).kind === kind &&
      (event as EventOf<'step.ended'>).name === name &&
      (input === undefined ||
        isAlikeButMarks(canonical((event as EventOf<'step.ended'>).input), canonical(input))),
  )
  if (near !== undefined) rerun.keys.set(near, key)
  return near
}
