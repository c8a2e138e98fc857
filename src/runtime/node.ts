/** The life of a node: it listens to hints, beats its heart, and looks for what nobody told it of. */
import { claimSession, takeClientTurn } from './claim.ts'
import { cancel, expireCall } from './ending.ts'
import { Fenced, Stopped } from './faults.ts'
import { forgetPast, forgetTime, overHere, stillRuns } from './kept-time.ts'
import { createRuntime, type Runtime, type RuntimePorts } from './line.ts'
import { toCallId, isCallId, type SessionId, type TurnId } from '../model/id.ts'
import type { EventOf } from '../model/event.ts'
import { buryStranded } from './mail-inbox.ts'
import type { Running } from './running.ts'
import type { Hint } from './ports.ts'
import { askPerson } from './question.ts'
import { settleBelow } from './running.ts'
import { startTurn } from './turn.ts'
import { lookForEndings, settleCall, settleTurn } from './waiting.ts'

const sweepMs = 1000
const leaseMs = 5000
const duePerSweep = 256
const roundsPerSweep = 16
const stopShownMs = 20
/** So long after its time a limit is forgotten, if nobody said that what it limited has ended. */
const pastMs = 3_600_000

export type Node = { line: Runtime; stop(): Promise<void> }

/**
 * What earlier processes left is taken up only when `resumeAfter` has settled: whoever can be reached first
 * is not held up by it.
 */
export async function startNode(
  ports: RuntimePorts,
  resumeAfter: Promise<unknown> | null = null,
): Promise<Node> {
  const line: Runtime = createRuntime(
    ports,
    (row, ...rest) => {
      startTurn(line, row, ...rest)
      const early = line.stoppedEarly.get(row.id)
      if (early === undefined) return
      line.stoppedEarly.delete(row.id)
      stop(line, row.id, early)
    },
    askPerson,
  )
  const deaf = line.store.onHint((hints) => hints.forEach((hint) => heed(line, hint)))
  await line.store.heartbeat(line.node, leaseMs)
  const living = Promise.all([
    resumeAfter === null ? sweepForever(line) : resumeAfter.then(() => sweepForever(line)),
    beatForever(line),
  ]).catch((fault: unknown) => tell(line, fault))
  return {
    line,
    async stop() {
      const interrupted = [...line.running.values()]
      line.stopping.abort(new Error('the node is stopping'))
      for (const running of line.running.values()) running.abort.abort(line.stopping.signal.reason)
      for (const told of line.atStop) told()
      line.alarm.stop()
      await Promise.all(interrupted.map((running) => suspend(line, running)))
      await living
      deaf()
    },
  }
}

/**
 * Says that a turn did not take this process with it. Where that cannot be recorded, the turn counts as one
 * that did.
 */
async function suspend(line: Runtime, { row: { id: turn, session }, epoch }: Running): Promise<void> {
  await line.store
    .transact([`session:${session}`], async (tx) => {
      const facts = await tx.activation(turn)
      if (facts?.state === 'running' && facts.node === line.node && facts.epoch === epoch)
        tx.append({ type: 'turn.suspended', session, turn, node: line.node, epoch })
    })
    .catch(() => undefined)
}

/** R9's level, for calls: whatever a hint says is also found by looking, once a second. */
async function sweepForever(line: Runtime): Promise<void> {
  for (;;) {
    // One thing that goes wrong must stop neither the rest nor the next round.
    await sweep(line).catch((fault: unknown) => tell(line, fault))
    await line.clock.sleep(sweepMs, line.stopping.signal)
  }
}

/** Beats on its own, so that a long sweep does not cost the lease. */
async function beatForever(line: Runtime): Promise<void> {
  for (;;) {
    await line.clock.sleep(sweepMs, line.stopping.signal)
    await line.store.heartbeat(line.node, leaseMs).catch((fault: unknown) => tell(line, fault))
  }
}

function tell(line: Runtime, fault: unknown): void {
  if (!line.stopping.signal.aborted) line.report(fault)
}

export async function sweep(line: Runtime): Promise<void> {
  // What is found together is written together; more than a few rounds wait for the next second, which goes
  // on where this one stopped.
  for (let round = 0; round < roundsPerSweep; round += 1) if (!(await sweepDue(line))) break
  await lookForEndings(line)
  await lookAtRunning(line)
  await buryStranded(line)
}

/** True if there is more than was looked at. */
async function sweepDue(line: Runtime): Promise<boolean> {
  const due = await line.store.due(line.clock.now(), duePerSweep, line.swept.to)
  line.swept.to = due.next
  // What is overdue ends before anything is taken over, so that nothing starts past its deadline.
  // R4: what this process keeps the time of ends by elapsed time, neither before nor after, whatever the wall
  // clock was set to.
  const over = overHere(line)
  const calls = [
    ...due.calls.filter((call) => !stillRuns(line, call)).map((call) => ({ call, over: false })),
    ...over.filter(isCallId).map((call) => ({ call, over: true })),
  ]
  const turns = [
    ...due.turns.filter((turn) => !stillRuns(line, turn) && !stillRuns(line, toCallId(turn))),
    ...over.filter((id): id is TurnId => !isCallId(id)),
  ]
  forgetPast(line, pastMs)
  await each(line, calls, (one) => expireCall(line, one.call, one.over))
  const lost = new Set(due.lost)
  await each(line, turns, async (turn) => {
    // A client's turn whose process is gone may have its answer on record: it is taken up once more, however
    // late.
    if (lost.has(turn)) return
    await cancel(line, turn, 'timed_out', 'deadline')
    const row = await line.store.turn(turn)
    if (row !== null) await claimSession(line, row.session)
  })
  await each(line, due.lost, (turn) => takeClientTurn(line, turn))
  const brokenOff = [...line.lost]
  line.lost.clear()
  await each(line, [...new Set([...due.sessions, ...brokenOff])], (session) => claimSession(line, session))
  return due.next !== null || Math.max(due.calls.length, due.turns.length, due.lost.length) >= duePerSweep
}

/** All at once, so that they share a commit; each fault is told and stops nobody else. */
async function each<T>(
  line: Runtime,
  things: readonly T[],
  act: (thing: T) => Promise<unknown>,
): Promise<void> {
  await Promise.all(things.map((thing) => act(thing).catch((fault: unknown) => tell(line, fault))))
}

/** A turn here that was told to stop, or that somebody else has, and whose hint was lost. */
async function lookAtRunning(line: Runtime): Promise<void> {
  for (const running of Array.from(line.running.values())) {
    const row = await line.store.turn(running.row.id)
    if (row === null || row.state === 'ended' || row.epoch !== running.epoch)
      running.abort.abort(new Fenced(`${running.row.id} is no longer ours`))
    else if (row.stopping !== null) stop(line, running.row.id, row.stopping)
  }
}

function heed(line: Runtime, hint: Hint): void {
  switch (hint.kind) {
    case 'call.ended':
      if (hint.event !== undefined) noteEnding(line, hint.event)
      else if (line.callWaiters.has(hint.call)) look(line)
      return
    case 'turn.ended':
      forgetTime(line, hint.turn)
      if (hint.event !== undefined) settleTurn(line, hint.turn, hint.event)
      else if (line.turnWaiters.has(hint.turn)) look(line)
      return
    case 'turn.cancelled':
      stop(line, hint.turn, hint.outcome)
      return
    case 'turn.queued':
      queue(line, hint.session)
      return
    case 'question.answered':
      for (const told of line.questionWaiters.get(hint.question) ?? []) told()
      return
    case 'appended':
      if (line.heard.size > 0) hear(line, hint)
      return
  }
}

function hear(line: Runtime, { events = [], first = 0, at = 0 }: Extract<Hint, { kind: 'appended' }>): void {
  for (const [index, event] of events.entries())
    if (event.turn !== null) line.heard.get(event.turn)?.push({ seq: first + index, at, event })
}

const stoppedEvent = (running: Running, outcome: Stopped['outcome']): EventOf<'turn.ended'> => ({
  type: 'turn.ended',
  session: running.row.session,
  turn: running.row.id,
  outcome,
  output: running.said,
  error: `${outcome}: the turn was stopped`,
  tokensUsed: running.tokensUsed,
  tokensBelow: running.tokensBelow,
  iterations: running.iterations,
  toolCalls: [...running.toolCalls],
  entry: null,
})

/** What a call used is counted for its caller here, whether somebody waits for it or not. */
function noteEnding(line: Runtime, ended: EventOf<'call.ended'>): void {
  forgetTime(line, ended.call)
  const caller = ended.turn === null ? undefined : line.running.get(ended.turn)
  if (caller !== undefined) settleBelow(caller, ended)
  settleCall(line, ended)
}

/** Behind a turn that runs here it is claimed when that ends. */
function queue(line: Runtime, session: SessionId): void {
  for (const running of line.running.values())
    if (running.row.session === session) return void line.queued.add(session)
  void claimSession(line, session).catch(line.report)
}

const rememberedMax = 1024

function remember(line: Runtime, turn: TurnId, outcome: Stopped['outcome']): void {
  if (line.stoppedEarly.size >= rememberedMax) line.stoppedEarly.clear()
  line.stoppedEarly.set(turn, outcome)
}

function look(line: Runtime): void {
  void lookForEndings(line).catch(line.report)
}

function stop(line: Runtime, turn: TurnId, outcome: Stopped['outcome']): void {
  const running = line.running.get(turn)
  // The commit that starts a turn may hold its cancel too; the hint then comes before the turn is here.
  if (running === undefined) return remember(line, turn, outcome)
  if (running.stopAs !== null) return
  running.stopAs = outcome
  running.abort.abort(new Stopped(outcome))
  // R4: whoever waits for the turn has control back soon, also if its driver takes its time to stop.
  line.alarm.after(stopShownMs, () => {
    if (line.running.get(turn) === running) settleTurn(line, turn, stoppedEvent(running, outcome))
  })
}
