/** The life of a node: it listens to hints, beats its heart, and looks for what nobody told it of. */
import { describeStop } from '../model/end.ts'
import { claimSession, takeClientTurn } from './turns/claim.ts'
import { cancel, expireCall } from './turns/ending.ts'
import { handOver } from './kernel/drain.ts'
import { mapGently } from './kernel/gently.ts'
import { Fenced, LineClosed, Stopped } from './kernel/faults.ts'
import { forgetPast, forgetTime, overHere, stillRuns } from './kernel/kept-time.ts'
import { createRuntime, type Runtime as Rooms, type RuntimePorts } from './sessions/runtime.ts'
import { toTurnId, toCallId, isCallId, type SessionId, type TurnId } from '../model/id.ts'
import type { EventOf, Outcome } from '../model/event.ts'
import { buryStranded } from './mail/mail-inbox.ts'
import { settleBelow, unrecordedEnd } from './kernel/running.ts'
import type { Hint } from './kernel/store-port.ts'
import { hearElsewhere } from './calls/steer.ts'
import { createActs } from './sessions/acts.ts'
import { driverOfClient } from './sessions/client-driver.ts'
import { askPerson } from './turns/question.ts'
import { suspend } from './turns/suspend.ts'
import { startTurn } from './turns/turn.ts'
import { lookForEndings, settleCall, settleTurn } from './kernel/waiting.ts'

const sweepMs = 1000
const leaseMsUsual = 5000
/** A lease is renewed so often before it ends. */
const beatsPerLease = 4
const duePerSweep = 256
const roundsPerSweep = 16
const stopShownMs = 20
const startMsMax = 15_000
const startAgainMs = 200
/** So long after its time a limit is forgotten, if nobody said that what it limited has ended. */
const pastMs = 3_600_000

/** What a node keeps for itself, beyond what its rooms need. */
type Runtime = Rooms & {
  /** How far the sweep has looked through what is due, so that it goes on there and not at the beginning. */
  readonly swept: { to: SessionId | null }
  /** Turns that were told to stop before they were here. */
  readonly stoppedEarly: Map<TurnId, Outcome>
}

export type Node = { runtime: Runtime; stop: () => Promise<void> }

/**
 * What earlier processes left is taken up only when `resumeAfter` has settled: whoever can be reached first
 * is not held up by it.
 */
export async function startNode(
  ports: RuntimePorts,
  resumeAfter: Promise<unknown> | null = null,
): Promise<Node> {
  const own = {
    swept: { to: null },
    stoppedEarly: new Map<TurnId, Outcome>(),
    unbegun: new Array<Promise<void>>(),
  }
  const rooms = createRuntime(ports, {
    start(row, ...rest) {
      // The commit that started it came before the stop: nothing runs it here any more.
      if (runtime.stopping.signal.aborted) return void own.unbegun.push(suspend(runtime, row, row.epoch))
      startTurn(runtime, row, ...rest)
      const early = runtime.stoppedEarly.get(row.id)
      if (early === undefined) return
      runtime.stoppedEarly.delete(row.id)
      stop(runtime, row.id, early)
    },
    askPerson: (...asked) => askPerson(runtime, ...asked),
    createActs: (...given) => createActs(runtime, ...given),
    driverOfClient: (running) => driverOfClient(runtime, running),
  })
  const runtime: Runtime = Object.assign(rooms, own)
  const unsubscribe = runtime.store.onHint((hints) => hints.forEach((hint) => handleHint(runtime, hint)))
  await firstBeat(runtime)
  const living = Promise.all([
    resumeAfter === null ? sweepForever(runtime) : resumeAfter.then(() => sweepForever(runtime)),
    beatForever(runtime),
  ]).catch((fault: unknown) => tell(runtime, fault))
  return {
    runtime,
    async stop() {
      if (runtime.place !== undefined) await handOver(runtime)
      const interrupted = [...runtime.running.values()]
      runtime.stopping.abort(new LineClosed())
      for (const running of runtime.running.values()) running.abort.abort(runtime.stopping.signal.reason)
      for (const told of runtime.atStop) told()
      runtime.alarm.stop()
      await Promise.all(interrupted.map(({ row, epoch }) => suspend(runtime, row, epoch)))
      await living
      await Promise.all(own.unbegun)
      unsubscribe()
    },
  }
}

/** Where the store is shared it may be away for a moment, and the node starts all the same. */
async function firstBeat(runtime: Runtime): Promise<void> {
  const since = runtime.clock.elapsed()
  for (;;) {
    try {
      return await runtime.store.heartbeat(runtime.node, runtime.leaseMs ?? leaseMsUsual)
    } catch (fault) {
      if (runtime.place === undefined || runtime.clock.elapsed() - since > startMsMax) throw fault
      await runtime.clock.sleep(startAgainMs)
    }
  }
}

/** R9's level, for calls: whatever a hint says is also found by looking, once a second. */
async function sweepForever(runtime: Runtime): Promise<void> {
  for (;;) {
    // One thing that goes wrong must stop neither the rest nor the next round.
    await sweep(runtime).catch((fault: unknown) => tell(runtime, fault))
    await runtime.clock.sleep(sweepMs, runtime.stopping.signal)
  }
}

/** Beats on its own, so that a long sweep does not cost the lease. */
async function beatForever(runtime: Runtime): Promise<void> {
  const { leaseMs = leaseMsUsual } = runtime
  for (;;) {
    await runtime.clock.sleep(Math.min(sweepMs, leaseMs / beatsPerLease), runtime.stopping.signal)
    await runtime.store.heartbeat(runtime.node, leaseMs).catch((fault: unknown) => tell(runtime, fault))
  }
}

function tell(runtime: Runtime, fault: unknown): void {
  if (!runtime.stopping.signal.aborted) runtime.report(fault)
}

export async function sweep(runtime: Runtime): Promise<void> {
  // What is found together is written together; more than a few rounds wait for the next second, which goes
  // on where this one stopped.
  for (let round = 0; round < roundsPerSweep; round += 1) if (!(await sweepDue(runtime))) break
  await lookForEndings(runtime)
  await lookAtRunning(runtime)
  await buryStranded(runtime)
}

/** True if there is more than was looked at. */
async function sweepDue(runtime: Runtime): Promise<boolean> {
  const due = await runtime.store.due(runtime.clock.now(), duePerSweep, runtime.swept.to)
  runtime.swept.to = due.next
  // What is overdue ends before anything is taken over, so that nothing starts past its deadline.
  // R4: what this process keeps the time of ends by elapsed time, neither before nor after, whatever the wall
  // clock was set to.
  const over = overHere(runtime)
  const calls = [
    ...due.calls.filter((call) => !stillRuns(runtime, call)).map((call) => ({ call, over: false })),
    ...over.flatMap(({ id }) => (isCallId(id) ? [{ call: id, over: true }] : [])),
  ]
  const turns = [
    ...due.turns.filter((turn) => !stillRuns(runtime, turn) && !stillRuns(runtime, toCallId(turn))),
    ...(await listOver(runtime, over)),
  ]
  forgetPast(runtime, pastMs)
  await each(runtime, calls, (one) => expireCall(runtime, one.call, one.over))
  const lost = new Set(due.lost)
  await each(runtime, turns, async (turn) => {
    // A client's turn whose process is gone may have its answer on record: it is taken up once more, however
    // late.
    if (lost.has(turn)) return
    await cancel(runtime, turn, 'timed_out', 'deadline')
    const row = await runtime.store.turn(turn)
    if (row !== null) await claimSession(runtime, row.session)
  })
  await each(runtime, due.lost, (turn) => takeClientTurn(runtime, turn))
  const brokenOff = [...runtime.brokenOff]
  runtime.brokenOff.clear()
  await each(runtime, [...new Set([...due.sessions, ...brokenOff])], (session) =>
    claimSession(runtime, session),
  )
  return due.next !== null || Math.max(due.calls.length, due.turns.length, due.lost.length) >= duePerSweep
}

/** Of turns, those that have this limit: one that was made for the start of a queued input may not be in the log. */
async function listOver(runtime: Runtime, over: ReturnType<typeof overHere>): Promise<TurnId[]> {
  const turns: TurnId[] = []
  for (const { id, deadline } of over)
    if (!isCallId(id) && (await runtime.store.turn(id))?.deadline === deadline) turns.push(id)
  return turns
}

/** All at once, so that they share a commit; each fault is told and stops nobody else. */
async function each<T>(
  runtime: Runtime,
  things: readonly T[],
  act: (thing: T) => Promise<unknown>,
): Promise<void> {
  await Promise.all(things.map((thing) => act(thing).catch((fault: unknown) => tell(runtime, fault))))
}

/** A turn here that was told to stop, or that somebody else has, and whose hint was lost. */
async function lookAtRunning(runtime: Runtime): Promise<void> {
  await mapGently(runtime, Array.from(runtime.running.values()), async (running) => {
    const row = await runtime.store.turn(running.row.id)
    if (row === null || row.state === 'ended' || row.epoch !== running.epoch)
      running.abort.abort(new Fenced(`${running.row.id} is no longer ours`))
    else if (row.stopping !== null) stop(runtime, running.row.id, row.stopping)
    // A word that was said at another node, and whose hint was lost, is found by looking.
    if (runtime.place !== undefined) running.steering.looks = true
  })
}

function handleHint(runtime: Runtime, hint: Hint): void {
  switch (hint.kind) {
    case 'call.ended':
      // One that never began takes what was said to it along.
      runtime.steeredEarly.delete(toTurnId(hint.call))
      if (hint.event !== undefined) noteEnding(runtime, hint.event)
      else if (runtime.callWaiters.has(hint.call)) look(runtime)
      return
    case 'turn.ended':
      forgetTime(runtime, hint.turn)
      if (runtime.queued.delete(hint.session) || runtime.claiming.has(hint.session))
        claim(runtime, hint.session)
      if (hint.event !== undefined) settleTurn(runtime, hint.turn, hint.event)
      else if (runtime.turnWaiters.has(hint.turn)) look(runtime)
      return
    case 'turn.cancelled':
      stop(runtime, hint.turn, hint.outcome)
      return
    case 'turn.queued':
      queue(runtime, hint.session)
      return
    case 'question.answered':
      for (const told of runtime.questionWaiters.get(hint.question) ?? []) told()
      return
    case 'call.steered':
      hearElsewhere(runtime, hint.turn, hint.event)
      return
    case 'appended':
      if (runtime.heard.size > 0) hear(runtime, hint)
      return
  }
}

function hear(
  runtime: Runtime,
  { events = [], first = 0, at = 0 }: Extract<Hint, { kind: 'appended' }>,
): void {
  for (const [index, event] of events.entries())
    if (event.turn !== null) runtime.heard.get(event.turn)?.push({ seq: first + index, at, event })
}

/** What a call used is counted for its caller here, whether somebody waits for it or not. */
function noteEnding(runtime: Runtime, ended: EventOf<'call.ended'>): void {
  forgetTime(runtime, ended.call)
  const caller = ended.turn === null ? undefined : runtime.running.get(ended.turn)
  if (caller !== undefined) settleBelow(caller, ended)
  settleCall(runtime, ended)
}

/** Behind a turn that runs here it starts with the end of that (R12). */
function queue(runtime: Runtime, session: SessionId): void {
  for (const running of runtime.running.values()) if (running.row.session === session) return
  claim(runtime, session)
}

function claim(runtime: Runtime, session: SessionId): void {
  void claimSession(runtime, session).catch(runtime.report)
}

const rememberedMax = 1024

function remember(runtime: Runtime, turn: TurnId, outcome: Stopped['outcome']): void {
  if (runtime.stoppedEarly.size >= rememberedMax) runtime.stoppedEarly.clear()
  runtime.stoppedEarly.set(turn, outcome)
}

function look(runtime: Runtime): void {
  void lookForEndings(runtime).catch(runtime.report)
}

function stop(runtime: Runtime, turn: TurnId, outcome: Stopped['outcome']): void {
  const running = runtime.running.get(turn)
  // The commit that starts a turn may hold its cancel too; the hint then comes before the turn is here.
  if (running === undefined) return remember(runtime, turn, outcome)
  if (running.stopAs !== null) return
  running.stopAs = outcome
  running.abort.abort(new Stopped(outcome))
  // R4: whoever waits for the turn has control back soon, also if its driver takes its time to stop.
  runtime.alarm.after(stopShownMs, () => {
    if (runtime.running.get(turn) === running)
      settleTurn(runtime, turn, unrecordedEnd(running, outcome, describeStop(outcome)))
  })
}
