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
import { diedTwice, diedTwiceError } from '../../model/runs.ts'
import { isThere, type Runtime } from '../kernel/runtime.ts'
import { starting } from '../kernel/open-turn.ts'
import { msLeft } from '../kernel/kept-time.ts'
import type { Key } from '../kernel/store-port.ts'
import { cancel, failTaken, recordedProgress } from './ending.ts'
import { readRecorded, type Recorded } from '../kernel/recorded.ts'
import { settleBelow, type Running } from '../kernel/running.ts'
import { readEnding } from '../kernel/waiting.ts'

type Claimed = { row: TurnRow; session: SessionRow; takeover: boolean }

export async function claimSession(runtime: Runtime, session: SessionId): Promise<void> {
  if (runtime.stopping.signal.aborted || runtime.claiming.has(session)) return
  runtime.claiming.add(session)
  try {
    // Nobody can run it now: what is looked at again every second must not cost a transaction.
    if (!(await endOverdue(runtime, session))) return
    const claimed = await runtime.store.transact([`session:${session}`], async (tx) => {
      const facts = await tx.session(session)
      const claim = decideClaim(runtime, facts, tx.now)
      if (claim === null) return null
      tx.append(claim.event)
      return claim.claimed
    })
    if (claimed !== null) await begin(runtime, claimed)
    else await endOrphan(runtime, session)
  } catch (error) {
    runtime.brokenOff.add(session)
    throw error
  } finally {
    runtime.claiming.delete(session)
  }
}

/**
 * Queued inputs whose sender waits no longer are not begun. False where all there is waits for somebody to
 * run it.
 */
async function endOverdue(runtime: Runtime, session: SessionId): Promise<boolean> {
  for (;;) {
    const { session: row, next, running } = await runtime.store.sessionFacts(session)
    if (running !== null || next === null) return true
    if (next.call !== null || next.deadline === 0 || msLeft(runtime, next.id, next.deadline) > 0)
      return row === null || isThere(runtime, runtime.agents.get(row.agent), session)
    await cancel(runtime, next.id, 'timed_out', 'deadline')
  }
}

function decideClaim(
  runtime: Runtime,
  { session, running, runnerAlive, next }: SessionFacts,
  now: number,
): { event: EventOf<'turn.started'> | EventOf<'session.claimed'>; claimed: Claimed } | null {
  if (session === null || session.kind === 'external') return null
  if (running !== null) {
    if (!isDead(runtime, running, runnerAlive) || running.stopping !== null) return null
    const epoch = running.epoch + 1
    return {
      event: { type: 'session.claimed', session: session.id, turn: running.id, node: runtime.node, epoch },
      claimed: { row: { ...running, node: runtime.node, epoch }, session, takeover: true },
    }
  }
  if (next === null || !isThere(runtime, runtime.agents.get(session.agent), session.id)) return null
  const ownMs =
    session.kind === 'ephemeral' && next.call !== null
      ? msLeft(runtime, next.call.id, next.call.deadline)
      : next.deadline > 0
        ? msLeft(runtime, next.id, next.deadline)
        : Infinity
  const deadline = now + Math.min(ownMs, runtime.limits.turnMsMax)
  return {
    event: {
      type: 'turn.started',
      session: session.id,
      turn: next.id,
      node: runtime.node,
      epoch: 1,
      deadline,
    },
    claimed: {
      row: { ...next, state: 'running', node: runtime.node, epoch: 1, deadline },
      session,
      takeover: false,
    },
  }
}

/** Of its own turns a node knows by itself whether they run; of others their node's lease says so. */
const isDead = (runtime: Runtime, { id, node }: TurnRow, runnerAlive: boolean): boolean =>
  node === runtime.node ? !runtime.running.has(id) && !runtime.starting.has(id) : !runnerAlive

async function begin(runtime: Runtime, { row, session, takeover }: Claimed): Promise<void> {
  const input = await readInput(runtime, row)
  const recorded = takeover ? await readRecorded(runtime.store, row) : null
  const before =
    recorded?.runs.flatMap(({ event }) =>
      event.type === 'session.claimed' && event.epoch === row.epoch ? [] : [event],
    ) ?? []
  if (diedTwice(before, runtime.node)) return failTaken(runtime, row, input, diedTwiceError) // R11
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
 * A turn that was told to stop, or that nobody can run again, and whose node is gone: its driver died with
 * it.
 */
async function endOrphan(runtime: Runtime, session: SessionId): Promise<void> {
  const { running, runnerAlive, session: row } = await runtime.store.sessionFacts(session)
  if (row?.kind === 'external') return takeAbandoned(runtime, session)
  if (running === null || !isDead(runtime, running, runnerAlive) || running.stopping === null) return
  const keys: Key[] = [
    `flow:${running.flow}`,
    ...running.grant.path.map((hop): Key => `session:${hop.session}`),
  ]
  const progress = await recordedProgress(runtime, running)
  await runtime.store.transact(keys, async (tx) => {
    const facts = await tx.session(session)
    if (
      facts.session === null ||
      facts.running?.id !== running.id ||
      !isDead(runtime, facts.running, facts.runnerAlive)
    )
      return
    const outcome = facts.running.stopping ?? 'lost'
    const result = { outcome, error: `${outcome}: the process that ran it is gone`, ...progress, entry: null }
    tx.append(
      ...endTurn(
        { turn: facts.running, session: facts.session },
        await tx.below(running.id as TurnId),
        result,
        () => undefined,
        tx.now,
        runtime.limits,
      ),
    )
  })
}

const abandonedMax = 1000

/**
 * Clients' turns of this node whose activation ended with a commit that nobody knows of. Those of other nodes
 * are found by their leases.
 */
async function takeAbandoned(runtime: Runtime, session: SessionId): Promise<void> {
  for (const { id, state, node } of await runtime.store.turns({ session }, abandonedMax)) {
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
    runtime.stopping.signal.aborted
  )
    return
  const input = await readInput(runtime, row)
  // Version 0.1.0 did not record what was asked for.
  if (row.stopping !== null || input.type !== 'message.sent' || input.use === undefined)
    return endLost(runtime, row)
  await starting(runtime, turn, row.session, async () => {
    const claimed = await runtime.store.transact(
      [`session:${row.session}`],
      async (tx): Promise<Claimed | null> => {
        const facts = await tx.turn(turn)
        if (facts === null || !isStill(row, facts.turn) || facts.turn.stopping !== null) return null
        const epoch = row.epoch + 1
        tx.append({ type: 'session.claimed', session: row.session, turn, node: runtime.node, epoch })
        return { row: { ...facts.turn, node: runtime.node, epoch }, session: facts.session, takeover: true }
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
  const progress = await recordedProgress(runtime, row)
  await runtime.store.transact(keys, async (tx) => {
    const facts = await tx.turn(row.id)
    if (facts === null || !isStill(row, facts.turn)) return
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
