/**
 * The life of sessions: made by a person, a client or an agent; archived with their children; adopted; put
 * away when nobody has used them for long.
 */
import { agentsIn, findAgent, findMain } from '../kernel/projects-port.ts'
import { assertOurs } from '../kernel/commit.ts'
import type { Key, Tx } from '../kernel/store-port.ts'
import { externalAgent } from '../../model/agent.ts'
import type { SessionFacts, SessionRow } from '../../model/facts.ts'
import { cancelKey, type SessionId, type TurnId } from '../../model/id.ts'
import { badInput, type Refusal } from '../../model/refusal.ts'
import { refuseAgent } from '../kernel/refuse-agent.ts'
import { sessionTurnsMax } from '../../model/limits.ts'
import { openSession } from '../../model/send.ts'
import { cancel } from '../turns/ending.ts'
import type { Runtime } from './runtime.ts'
import { buried } from '../mail/mail-inbox.ts'
import type { Lists } from '../kernel/lists-port.ts'
import { readAll } from '../kernel/scope.ts'
import { readWorld, type Sender } from '../mail/sender.ts'
import { asCalled, type NewSession, newSession, createdEvent } from '../kernel/new-session.ts'

/** Whether a turn may open a session for an agent, by the facts of its flow; others are judged elsewhere. */
export async function judgeOpening(
  tx: Tx,
  runtime: Runtime,
  sender: Sender,
  target: SessionId,
  { agent, cwd, calledAs }: NewSession,
): Promise<Refusal | null> {
  if (sender.kind !== 'turn') return null
  const { id, flow } = sender.running.row
  const facts = await tx.send({ senderTurn: id, flow, target })
  assertOurs(facts.sender?.turn, sender.running, runtime)
  const found = findAgent(runtime, { agent, cwd })
  const targetAgent = found === undefined ? undefined : asCalled(found, calledAs)
  return openSession({ targetAgent }, agent, facts, readWorld(runtime, sender, tx.now))
}

/** A session without a first message. The same id again gives the session that is there. */
export async function createSession(
  runtime: Runtime,
  to: NewSession,
  sender: Sender,
  id: string | null,
): Promise<SessionRow | Refusal> {
  const session: SessionId = `ses_${id ?? runtime.ids.next()}`
  const external = to.agent === externalAgent.name
  const flow = sender.kind === 'turn' ? sender.running.row.flow : null
  const keys = [
    `session:${session}` as const,
    ...(sender.kind === 'turn'
      ? [`session:${sender.running.row.session}` as const, `flow:${sender.running.row.flow}` as const]
      : []),
  ]
  return runtime.store.transact(keys, async (tx): Promise<SessionRow | Refusal> => {
    const known = id === null ? null : (await tx.session(session)).session
    if (known !== null)
      return known.agent === to.agent && known.cwd === to.cwd
        ? known
        : badInput('id', id, 'an id that no other session has')
    const refusal = await judgeOpening(tx, runtime, sender, session, to)
    if (refusal !== null) return refusal
    if (sender.kind !== 'turn' && !external && findAgent(runtime, to) === undefined)
      return refuseAgent(agentsIn(runtime, to.cwd), to.agent)
    const row = newSession(to, session, tx.now, external ? 'external' : 'persistent')
    tx.append(createdEvent(row, { flow }))
    return row
  })
}

/**
 * The session first, so that nothing more begins in it; then what runs, and its children until there are
 * none. An agent's main session is only put away: a message or a call brings it back.
 */
export async function archiveSession(runtime: Runtime, session: SessionId): Promise<SessionId[] | Refusal> {
  const row = await runtime.store.session(session)
  if (row === null || row.kind === 'ephemeral') return { code: 'session_unknown', session }
  const agents = agentsIn(runtime, row.cwd)
  const isMain = session === findMain(agents, row.agent, row.cwd).session
  const cause = isMain && agents.get(row.agent) !== undefined ? 'idle' : 'deleted'
  const now = await runtime.store.transact([`session:${session}`], async (tx) => {
    const { session: present } = await tx.session(session)
    if (present === null || present.archived === 'deleted' || present.archived === cause) return false
    // Whoever wrote to it is told with the same breath.
    tx.append(
      { type: 'session.archived', session, turn: null, cause },
      ...(cause === 'deleted' ? await buried(tx, session, 'its session was deleted') : []),
    )
    return true
  })
  const archived: SessionId[] = now ? [session] : []
  await cancelSession(runtime, session, true, { outcome: 'cancelled', cause: 'the session was deleted' })
  for (const child of await runtime.lists.children(session)) {
    const below = child.archived === 'deleted' ? [] : await archiveSession(runtime, child.id)
    if (Array.isArray(below)) archived.push(...below)
  }
  return archived
}

type CancelEnding = { outcome: 'cancelled' | 'timed_out'; cause: string }

/**
 * The turn that runs and everything below it; with `all` what is queued too. How many turns were told to end.
 */
export async function cancelSession(
  runtime: Runtime,
  session: SessionId,
  all: boolean,
  ending: CancelEnding,
  only: TurnId | null = null,
): Promise<number> {
  let cancelled = 0
  for (const turn of await turnsToCancel(runtime, session, all, only))
    cancelled += (await cancel(runtime, turn, ending.outcome, ending.cause)) ? 1 : 0
  return cancelled
}

/**
 * What is queued goes first, or the next one would start when the present one ends. Under the session's key this
 * node has read what others have recorded for it: a turn that was acknowledged elsewhere is found, or the cancel
 * fails, and is never answered with "nothing runs".
 */
async function turnsToCancel(
  runtime: Runtime,
  session: SessionId,
  all: boolean,
  only: TurnId | null,
): Promise<TurnId[]> {
  await runtime.store.transact([`session:${session}`], async () => undefined)
  if (only !== null) {
    const row = await runtime.store.turn(only)
    return row?.session === session && row.state !== 'ended' ? [only] : []
  }
  return (await runtime.store.turns({ session }, sessionTurnsMax))
    .filter(({ state }) => state === 'running' || all)
    .toSorted((a, b) => Number(a.state === 'running') - Number(b.state === 'running'))
    .map(({ id }) => id)
}

/**
 * The same for an act that may be tried again. Which turns it means is recorded first, so that a second try,
 * also after a crash of the server,
 * ends those turns and never one that came later. How many it meant.
 */
export async function cancelOnce(
  runtime: Runtime,
  session: SessionId,
  act: string,
  all: boolean,
  ending: CancelEnding,
  only: TurnId | null,
): Promise<number> {
  const meant = await turnsToCancel(runtime, session, all, only)
  const isNew = await runtime.store.transact([`session:${session}`], async (tx) => {
    if ((await tx.traced(session, cancelKey(act))) !== null) return false
    tx.append({ type: 'session.cancelled', session, turn: null, act, turns: meant })
    return true
  })
  const turns = isNew ? meant : await turnsOfCancel(runtime, session, act)
  for (const turn of turns) await cancel(runtime, turn, ending.outcome, ending.cause)
  return turns.length
}

async function turnsOfCancel(runtime: Runtime, session: SessionId, act: string): Promise<readonly TurnId[]> {
  const events = await readAll(runtime.store, 0, { sessions: [session], types: ['session.cancelled'] })
  const before = events.find(({ event }) => event.type === 'session.cancelled' && event.act === act)?.event
  return before?.type === 'session.cancelled' ? before.turns : []
}

const generationsMax = 1000

/** A session cannot be below itself. */
export async function adoptSession(
  runtime: Runtime,
  session: SessionId,
  parent: SessionId | null,
): Promise<Refusal | null> {
  const row = await runtime.store.session(session)
  if (row === null || row.kind === 'ephemeral') return { code: 'session_unknown', session }
  // R1: all that are above it now; one that comes in between is asked for.
  const keys: Key[] = [`session:${session}`]
  for (let at = parent; at !== null && at !== session && keys.length <= generationsMax;) {
    keys.push(`session:${at}`)
    at = (await runtime.store.session(at))?.parent ?? null
  }
  return runtime.store.transact(keys, async (tx): Promise<Refusal | null> => {
    let steps = 0
    for (let at: SessionId | null = parent; at !== null; steps += 1) {
      if (at === session || steps > generationsMax)
        return badInput('parent', parent, 'a session that is not below this one')
      const { session: above }: SessionFacts = await tx.session(at)
      if (at === parent && (above === null || above.archived === 'deleted'))
        return { code: 'session_unknown', session: parent }
      at = above?.parent ?? null
    }
    // One that was put away with its parent can be written to again.
    const revives = (await tx.session(session)).session?.archived === false ? {} : { revives: true as const }
    tx.append({ type: 'session.adopted', session, turn: null, parent, ...revives })
    return null
  })
}

/** The title that it has already changes nothing. */
export async function renameSession(
  runtime: Runtime,
  session: SessionId,
  title: string,
): Promise<Refusal | null> {
  return runtime.store.transact([`session:${session}`], async (tx): Promise<Refusal | null> => {
    const { session: row } = await tx.session(session)
    if (row === null || row.archived === 'deleted') return { code: 'session_unknown', session }
    if (row.title !== title) tx.append({ type: 'session.renamed', session, turn: null, title })
    return null
  })
}

const perRound = 100

/** Spawned sessions that nobody has used for long are put away; a message brings them back. */
export async function archiveIdle(runtime: Runtime, lists: Lists): Promise<number> {
  const before = runtime.clock.now() - runtime.limits.archiveAfterHours * 3_600_000
  const resting = await lists.restingSince(before, perRound)
  for (const session of resting) {
    await runtime.store.transact([`session:${session}`], async (tx) => {
      const { session: row, running, next } = await tx.session(session)
      const { waiting, drafts } = await tx.mail(session)
      if (row !== null && !row.archived && running === null && next === null && waiting + drafts === 0)
        tx.append({ type: 'session.archived', session, turn: null, cause: 'idle' })
    })
  }
  return resting.length
}
