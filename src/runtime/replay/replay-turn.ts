/**
 * Runs one recorded turn again, on the real runtime, with nothing but its record: its driver, steps, rules
 * and endings are those of a live turn;
 * the store is a sink in memory, and what a model, a tool, a callee or the store of that time answered comes
 * from the log.
 */
import type { Event, EventOf } from '../../model/event.ts'
import type { CallId } from '../../model/id.ts'
import { canonical } from '../../model/json.ts'
import { BudgetExhausted, Fenced, Stopped } from '../kernel/faults.ts'
import { fewAtOnce } from '../kernel/few-at-once.ts'
import { fewEachRound } from '../kernel/few-each-round.ts'
import { createRuntime } from '../sessions/runtime.ts'
import { markPattern } from '../../model/secret-mark.ts'
import { moveThen, schemasThen, stepsThen, toolsThen } from './replay-answers.ts'
import { createReplayGate, type Stray } from './replay-gate.ts'
import { agentsThen } from './replay-facts.ts'
import {
  noLists,
  createReplaySink,
  type Departure,
  type RecordedTurn,
  type Replaying,
  type ReplayPorts,
  type Rerun,
} from './replaying.ts'
import type { Running } from '../kernel/running.ts'
import { createActs } from '../sessions/acts.ts'
import { startTurn } from '../turns/turn.ts'
import { settleCall } from '../kernel/waiting.ts'

const quietMsDefault = 1000
/** A question that the record ends with. */
const unanswered = { answer: 'deny', by: 'the record ends before the answer', reason: null } as const

/** `says`: whether its model's recorded answers are said again as they come. */
export async function replayTurn(ports: ReplayPorts, turn: RecordedTurn, says: boolean): Promise<Rerun> {
  const rerun: Rerun = { events: [], departure: null, stop: null, notes: [], keys: new Map() }
  const over = new AbortController()
  let fault: unknown = null
  const gate = watchRecord(turn, () => replaying)
  const replaying: Replaying = {
    ports,
    turn,
    gate,
    rerun,
    says,
    redacted: markPattern.test(canonical([turn.input, turn.timeline, turn.ended])),
    seqs: new Map(turn.timeline.map((stored) => [stored.event, stored])),
    runtime: createRuntime(
      {
        store: createReplaySink(() => replaying),
        lists: noLists,
        clock: {
          now: () => turn.row.openedAt,
          elapsed: () => 0,
          sleep: () => Promise.reject(new Error('a replay does not wait')),
        },
        ids: { next: () => 'replay', boundary: () => null },
        agents: {
          ...agentsThen(ports.agents, turn.timeline),
          driver: (agent) => ({
            run: (input, steps, signal) =>
              ports.agents.driver(agent).run(input, stepsThen(replaying, steps), signal),
          }),
        },
        tools: { of: async (agent, turn) => toolsThen(replaying, await ports.tools.of(agent, turn)) },
        limits: ports.limits,
        count: ports.count,
        summarise: async () => null,
        describeWorkspace: async () => ({ text: '' }),
        schemas: schemasThen(() => replaying),
        moves: (from, key) => moveThen(replaying, from, key),
        subagent: ports.subagent,
        ...(ports.artifactKinds === undefined ? {} : { artifactKinds: ports.artifactKinds }),
        asks: true,
        // What waits at the gate for its place in the record must not keep others from asking.
        opening: fewAtOnce(Infinity),
        beginning: fewEachRound(Infinity),
        report: (thrown) => {
          fault = thrown
          over.abort()
        },
      },
      {
        start: () => undefined,
        askPerson: async (_running, _tool, _input, key) => turn.answers.get(key) ?? unanswered,
        createActs: (running) => createActs(replaying.runtime, running),
        driverOfClient: () => undefined,
      },
    ),
    running: () => runningNow(replaying),
    end: () => over.abort(),
  }
  Object.assign(replaying.runtime, {
    node: turn.row.node,
    alarm: { after: () => () => undefined, stop: () => undefined },
    callWaiters: new Waiters((call) => gate.callWaited(call)),
  })
  startTurn(replaying.runtime, turn.row, turn.session, turn.input, null)
  if (turn.timeline.length === 0) endOfRecord(replaying, [])
  await gate.watch(ports.clock, ports.quietMs ?? quietMsDefault, over.signal)
  if (fault !== null) throw fault
  return rerun
}

/** Where the turn departs from its record, or the record ends. */
function watchRecord(turn: RecordedTurn, replaying: () => Replaying): ReturnType<typeof createReplayGate> {
  return createReplayGate(turn.timeline, {
    ended: (event) => settleCall(replaying().runtime, event),
    exhausted: (strays) => endOfRecord(replaying(), strays),
    stuck: (next, strays, later) =>
      depart(replaying(), {
        why: 'the turn asked for something else than what was recorded next',
        recorded: next,
        asked: wanted(strays, later),
      }),
    silent: () =>
      depart(replaying(), {
        why: 'the turn asked for nothing and did not end: it waits for something that is not in the record',
        recorded: turn.ended,
        asked: null,
      }),
  })
}

function runningNow({ runtime, turn }: Replaying): Running {
  const running = runtime.running.get(turn.row.id)
  if (running === undefined) throw new Fenced('the turn has ended')
  return running
}

/** The gate is told as soon as somebody waits for a call. */
class Waiters extends Map<CallId, Set<(ended: EventOf<'call.ended'>) => void>> {
  readonly #told: (call: CallId) => void
  constructor(told: (call: CallId) => void) {
    super()
    this.#told = told
  }
  override set(call: CallId, waiters: Set<(ended: EventOf<'call.ended'>) => void>): this {
    super.set(call, waiters)
    // The one who waits is added right after this.
    queueMicrotask(() => this.#told(call))
    return this
  }
}

const wanted = (strays: readonly Stray[], later: readonly Event[]): string =>
  [...strays.map(({ asked }) => asked), ...later.map((event) => canonical(event))].join('\n')

/** Ends the run where it left its record: whatever the driver still does is refused. */
function depart(replaying: Replaying, departure: Departure | null): void {
  const { rerun, runtime, turn } = replaying
  rerun.departure ??= departure
  const running = runtime.running.get(turn.row.id)
  if (running !== undefined) {
    rerun.events.push(...running.buffer)
    running.buffer = []
    running.abort.abort(departure === null ? new Stopped('cancelled') : new Fenced('the replay is over'))
  }
  // What is left of the run must not record anything more.
  runtime.stopping.abort(new Error('the replay is over'))
  replaying.end()
}

/**
 * Everything that was recorded has been answered. A turn that was cut off ends here; one that broke, breaks
 * as it did; any other must not want more.
 */
function endOfRecord(replaying: Replaying, strays: readonly Stray[]): void {
  const { turn, rerun, ports } = replaying
  const stop = findStop(turn)
  if (stop !== null) {
    if (rerun.stop !== null) return
    rerun.stop = stop
    // What was just answered is recorded before anything is cut off.
    void ports.clock.sleep(0).then(() => depart(replaying, null))
    return
  }
  for (const stray of strays) {
    const { outcome, error } = turn.ended ?? {}
    if (stray.kind === 'step' && outcome === 'budget_exhausted')
      stray.reject(new BudgetExhausted('no tokens were left'))
    else if (stray.kind === 'step' && outcome === 'failed') {
      rerun.notes.push(`the last step left no result in the record; it broke with: ${error ?? ''}`)
      stray.reject(new Error(error ?? ''))
    } else
      return depart(replaying, {
        why: 'the turn asked for an effect that is not in its record',
        recorded: turn.ended,
        asked: stray.asked,
      })
  }
}

function findStop({ ended, cancelled }: RecordedTurn): string | null {
  if (ended === null) return 'the record ends before the turn does'
  if (cancelled?.event.type === 'turn.cancelled')
    return `the turn was stopped (${cancelled.event.outcome}: ${cancelled.event.cause})`
  return ended.outcome === 'lost' ? 'the process that ran the turn was lost' : null
}
