/**
 * Taking a session: the next queued turn of one that rests, or the running turn of a node that lost its
 * lease.
 * R6: by compare-and-set in one transaction under the session's key; a takeover raises the epoch, so the old
 * activation is fenced.
 */
import { endTurn } from '../../model/end.ts'
import type { EventOf } from '../../model/event.ts'
import type { SessionFacts, SessionRow, TurnRow } from '../../model/facts.ts'
import type { SessionId, TurnId } from '../../model/id.ts'
import { sessionTurnsMax } from '../../model/limits.ts'
import { diedTwice, diedTwiceError } from '../../model/runs.ts'
import { starting, startingOne } from '../kernel/commit.ts'
import { findAgent } from '../kernel/projects-port.ts'
import { isThere, takesTurns } from '../kernel/runtime.ts'
import type { Runtime } from './runtime.ts'
import type { Key, Tx } from '../kernel/store-port.ts'
import { cancel, expireCall, failTaken, recordedProgress } from './ending.ts'
import { isOverdue, nothingNext, planStart, takeNext, type Claimed, type Next } from './next-turn.ts'
import { endOldWaits } from './old-waits.ts'
import { readRecorded, type Recorded } from '../kernel/recorded.ts'
import { settleBelow, type Running } from '../kernel/running.ts'
import { readEnding } from '../kernel/waiting.ts'

/** Looks at a session and takes what this node may run. A look that is asked for meanwhile follows it. */
export async function claimSession(runtime: Runtime, session: SessionId): Promise<void> {
  if (runtime.claiming.has(session)) return void runtime.claiming.set(session, true)
  try {
    do {
      if (!takesTurns(runtime)) return
      runtime.claiming.set(session, false)
      await claim(runtime, session)
    } while (runtime.claiming.get(session) === true)
  } catch (error) {
    runtime.brokenOff.add(session)
    throw error
  } finally {
    runtime.claiming.delete(session)
  }
}

/** Runs what the end of a turn started, or looks at what it could not start. */
export async function follow(runtime: Runtime, session: SessionId, { claimed, look }: Next): Promise<void> {
  if (claimed !== null) await begin(runtime, claimed)
  else if (look) await claimSession(runtime, session)
}

/**
 * Ends or claims something by `act`, and runs what that started. Until it runs it counts as starting; if this
 * breaks off, the sweep looks for what became of it.
 */
const followed = (
  runtime: Runtime,
  session: SessionId,
  act: (note: (turn: TurnId) => void) => Promise<Next>,
): Promise<void> => startingOne(runtime, session, async (note) => follow(runtime, session, await act(note)))

async function claim(runtime: Runtime, session: SessionId): Promise<void> {
  // R7: while nobody knows what became of the last commits, what a turn has used cannot be read.
  if (runtime.store.health().state !== 'ok') return void runtime.brokenOff.add(session)
  const { session: row, running, runnerAlive, next } = await runtime.store.sessionFacts(session)
  if (row === null) return
  if (row.kind === 'external') return takeAbandoned(runtime, session)
  if (running !== null && !isDead(runtime, running, runnerAlive)) {
    if (next !== null && running.node !== runtime.node) remember(runtime, session)
    return
  }
  if (running?.stopping != null)
    return followed(runtime, session, (note) => endOrphan(runtime, running, note))
  // What nobody here can run is looked at again every second, and must not cost a transaction.
  if (running === null && !(await endOverdue(runtime, row, next))) return
  await followed(runtime, session, (note) =>
    runtime.store.transact([`session:${session}`], async (tx) => {
      const claimed = decideClaim(runtime, await tx.session(session), tx.now)
      if (claimed === null) return nothingNext
      note(claimed.row.id)
      tx.append(claimed.event)
      return { ...nothingNext, claimed }
    }),
  )
}

const rememberedMax = 1024

/** Forgetting costs time: the sweep finds what is left. */
function remember(runtime: Runtime, session: SessionId): void {
  if (runtime.queued.size >= rememberedMax) runtime.queued.clear()
  runtime.queued.add(session)
}

/**
 * Queued inputs whose sender waits no longer are not begun. False where nothing is left, or all there is
 * waits for somebody to run it.
 */
async function endOverdue(runtime: Runtime, row: SessionRow, first: TurnRow | null): Promise<boolean> {
  for (let next = first; next !== null; { next } = await runtime.store.sessionFacts(row.id)) {
    if (!isOverdue(runtime, next)) return isThere(runtime, findAgent(runtime, row), row)
    if (next.call === null) await cancel(runtime, next.id, 'timed_out', 'deadline')
    else await expireCall(runtime, next.call.id, true)
  }
  return false
}

function decideClaim(
  runtime: Runtime,
  { session, running, runnerAlive, next }: SessionFacts,
  now: number,
): (Claimed & { event: EventOf<'turn.started'> | EventOf<'session.claimed'> }) | null {
  // Since it was looked at, this node may have begun to stop.
  if (session === null || session.kind === 'external' || !takesTurns(runtime)) return null
  if (running !== null) {
    if (!isDead(runtime, running, runnerAlive) || running.stopping !== null) return null
    if (runtime.place?.mayRun(findAgent(runtime, session), session.cwd) === false) return null
    const [node, epoch] = [runtime.node, running.epoch + 1]
    return {
      event: { type: 'session.claimed', session: session.id, turn: running.id, node, epoch },
      row: { ...running, node, epoch },
      takeover: true,
    }
  }
  const start = next === null ? null : planStart(runtime, session, next, now)
  return start === null ? null : { event: start.event, ...start.claimed }
}

/** Of its own turns a node knows by itself whether they run; of others their node's lease says so. */
const isDead = (runtime: Runtime, { id, node }: TurnRow, runnerAlive: boolean): boolean =>
  node === runtime.node ? !runtime.running.has(id) && !runtime.starting.has(id) : !runnerAlive

/** The session as the commit that claimed it left it: with what was said in the turn that ended in it. */
async function begin(runtime: Runtime, { row, takeover }: Claimed): Promise<void> {
  const session = await runtime.store.session(row.session)
  if (session === null) throw new Error(`the session of ${row.id} is not known`)
  const input = await readInput(runtime, row)
  const recorded = takeover ? await readRecorded(runtime.store, row) : null
  const before =
    recorded?.runs.flatMap(({ event }) =>
      event.type === 'session.claimed' && event.epoch === row.epoch ? [] : [event],
    ) ?? []
  if (diedTwice(before, runtime.node))
    return followed(runtime, row.session, (note) => failTaken(runtime, row, input, diedTwiceError, note)) // R11
  if (recorded !== null) await endOldWaits(runtime, row, recorded) // R5
  const endings = recorded === null ? [] : await readEndings(runtime, recorded)
  runtime.rooms.start(row, session, input, recorded)
  const running = runtime.running.get(row.id)
  if (running !== undefined) for (const ended of endings) settleBelow(running, ended)
}

/** Calls of the turn that have ended already: what they used is known before the turn goes on. */
async function readEndings(runtime: Runtime, recorded: Recorded): Promise<EventOf<'call.ended'>[]> {
  const endings: EventOf<'call.ended'>[] = []
  for (const { event } of recorded.events) {
    const found = event.type === 'call.opened' ? await readEnding(runtime, event.call) : null
    if (found !== null) endings.push(found.ended)
  }
  return endings
}

async function readInput(runtime: Runtime, row: TurnRow): Promise<Running['input']> {
  const stored = await runtime.store.event(row.openedSeq)
  if (stored !== null && 'grant' in stored.event) return stored.event
  throw new Error(`the input of ${row.id} is not in the log`)
}

/**
 * R6, R7: an activation that is only slow may still record what its turn is charged for. Only when it can't any more
 * what it has recorded is read, and the turn ends.
 */
function fence({ node }: Runtime, tx: Tx, { id: turn, session, epoch }: TurnRow): number {
  tx.append({ type: 'session.claimed', session, turn, node, epoch: epoch + 1 })
  return epoch + 1
}
const isFenced = ({ node }: Runtime, turn: TurnRow, epoch: number): boolean =>
  turn.state === 'running' && turn.node === node && turn.epoch === epoch

/** A turn that was told to stop, and whose node is gone: its driver died with it. */
async function endOrphan(runtime: Runtime, row: TurnRow, note: (turn: TurnId) => void): Promise<Next> {
  const keys: Key[] = [`flow:${row.flow}`, ...row.grant.path.map((hop): Key => `session:${hop.session}`)]
  const epoch = await runtime.store.transact([`session:${row.session}`], async (tx) => {
    const { running, runnerAlive } = await tx.session(row.session)
    if (running?.id !== row.id || !isDead(runtime, running, runnerAlive)) return null
    return fence(runtime, tx, running)
  })
  if (epoch === null) return nothingNext
  const progress = await recordedProgress(runtime, row)
  return runtime.store.transact(keys, async (tx) => {
    const { session, running } = await tx.session(row.session)
    if (session === null || running?.id !== row.id || !isFenced(runtime, running, epoch)) return nothingNext
    const outcome = running.stopping ?? 'lost'
    const result = { outcome, error: `${outcome}: the process that ran it is gone`, ...progress, entry: null }
    const below = await tx.below(row.id)
    const next = await takeNext(runtime, tx, session, note)
    tx.append(
      ...endTurn({ turn: running, session }, below, result, () => undefined, tx.now, runtime.limits),
      ...next.events,
    )
    return next
  })
}

/**
 * Clients' turns of this node whose activation ended with a commit that nobody knows of. Those of other nodes
 * are found by their leases.
 */
async function takeAbandoned(runtime: Runtime, session: SessionId): Promise<void> {
  for (const { id, state, node } of await runtime.store.turns({ session }, sessionTurnsMax)) {
    if (state === 'running' && node === runtime.node) await takeClientTurn(runtime, id)
  }
}

/**
 * A client's turn that its node took with it: several may be open in one session, so each is taken by its own
 * id.
 * A server that died is not a client that left: what was asked for is on record, so it goes on here to its
 * end, and a retry gets the answer.
 */
export async function takeClientTurn(runtime: Runtime, turn: TurnId): Promise<void> {
  const row = await runtime.store.turn(turn)
  if (
    row === null ||
    row.state !== 'running' ||
    runtime.running.has(turn) ||
    runtime.starting.has(turn) ||
    !takesTurns(runtime)
  )
    return
  const input = await readInput(runtime, row)
  // Version 0.1.0 did not record what was asked for.
  if (row.stopping !== null || input.type !== 'message.sent' || input.use === undefined)
    return starting(runtime, turn, row.session, () => endLost(runtime, row))
  await starting(runtime, turn, row.session, async () => {
    const claimed = await runtime.store.transact(
      [`session:${row.session}`],
      async (tx): Promise<Claimed | null> => {
        const facts = takesTurns(runtime) ? await tx.turn(turn) : null
        if (facts === null || !isStill(row, facts.turn) || facts.turn.stopping !== null) return null
        const epoch = row.epoch + 1
        tx.append({ type: 'session.claimed', session: row.session, turn, node: runtime.node, epoch })
        return { row: { ...facts.turn, node: runtime.node, epoch }, takeover: true }
      },
    )
    if (claimed !== null) await begin(runtime, claimed)
  })
}

/**
 * R6: nobody else has taken or ended it since it was looked at. A node that was only frozen finds out that it
 * was.
 */
const isStill = (seen: TurnRow, now: TurnRow): boolean =>
  now.state === 'running' && now.node === seen.node && now.epoch === seen.epoch

async function endLost(runtime: Runtime, row: TurnRow): Promise<void> {
  const keys: Key[] = [
    `flow:${row.flow}`,
    `session:${row.session}`,
    ...row.grant.path.map((hop): Key => `session:${hop.session}`),
  ]
  const epoch = await runtime.store.transact([`session:${row.session}`], async (tx) => {
    const facts = await tx.turn(row.id)
    return facts === null || !isStill(row, facts.turn) ? null : fence(runtime, tx, facts.turn)
  })
  if (epoch === null) return
  const progress = await recordedProgress(runtime, row)
  await runtime.store.transact(keys, async (tx) => {
    const facts = await tx.turn(row.id)
    if (facts === null || !isFenced(runtime, facts.turn, epoch)) return
    const outcome = facts.turn.stopping ?? 'lost'
    tx.append(
      ...endTurn(
        facts,
        await tx.below(row.id),
        { outcome, error: `${outcome}: the process that ran it is gone`, ...progress, entry: null },
        () => undefined,
        tx.now,
        runtime.limits,
      ),
    )
  })
}
