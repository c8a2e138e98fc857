/** What doors show of sessions and conversations: read from views and log, for answers only. */
import { findAgent } from '../kernel/projects-port.ts'
import { isAbsolute } from 'node:path'
import { openAddress, pickAddress, splitAddress, type Address } from '../../model/client-address.ts'
import type { Entry } from '../../model/context.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { FlowId, SessionId, TurnId } from '../../model/id.ts'
import { pageUnitsMax } from '../../model/limits.ts'
import { renderCost } from '../../model/money.ts'
import { opensTurn } from '../../model/opening.ts'
import type { Refusal } from '../../model/refusal.ts'
import { nameText } from '../../model/request-name.ts'
import { mapGently } from '../kernel/gently.ts'
import { refuseDirectory, toRealPath } from '../kernel/is-directory.ts'
import type { SessionListing } from '../kernel/lists-port.ts'
import type { Runtime } from './runtime.ts'
import { seeClient } from './presence.ts'
import { addAmounts, noAmount, readSpent, type Amount } from './spent.ts'
import { displayAgent, isRun, lastOutcome, sessionStatus } from './state.ts'
import type { History, HistoryEntry, Session } from '../../wire/sessions.ts'

const candidatesMax = 10
/** R11: the newest. */
const addressesMax = 1000

/** `whole`: its directory is the path of one that is there, and not a part of one. */
async function readAddress(given: string): Promise<(Address & { whole: boolean }) | null> {
  const address = splitAddress(given)
  if (address === null) return null
  const dir = await toRealPath(address.dir)
  return { ...address, dir, whole: isAbsolute(dir) && refuseDirectory(dir) === null }
}

/** The address that mail to it would open (A3), where nobody has worked there yet. */
export async function findOpening(runtime: Runtime, given: string): Promise<Address | null> {
  const address = await readAddress(given)
  if (address?.whole !== true) return null
  return openAddress(
    { client: address.client, dir: address.dir },
    await runtime.lists.addresses(addressesMax),
  )
}

/**
 * By whole id, by a part that fits one only, by `last` for the newest, or by the address of a client
 * (`<client>@<directory>`).
 */
export async function findSession(runtime: Runtime, given: string): Promise<SessionRow | Refusal> {
  const exact = await runtime.store.session(given as SessionId)
  if (exact !== null) return exact
  if (given === 'last') return findLast(runtime)
  const address = await readAddress(given)
  if (address !== null)
    return pickAddress(given, address, await runtime.lists.addresses(addressesMax), address.whole)
  const like = given === '' ? [] : await runtime.lists.sessionsLike(given, candidatesMax + 1)
  if (like.length > 1)
    return { code: 'session_ambiguous', session: given, candidates: like.slice(0, candidatesMax) }
  const [only] = like
  return (
    (only === undefined ? null : await runtime.store.session(only)) ?? {
      code: 'session_unknown',
      session: given,
    }
  )
}

/** The newest that a person would mean: clients' own sessions are only where they act from. */
async function findLast(runtime: Runtime): Promise<SessionRow | Refusal> {
  const { sessions } = await runtime.lists.listing({ archived: false }, addressesMax)
  return (
    sessions.find(({ row }) => row.kind !== 'external')?.row ?? { code: 'session_unknown', session: 'last' }
  )
}

export async function viewOfListing(
  runtime: Runtime,
  { row, active, updatedAt, parentArchived, lastTurn, buffered }: SessionListing,
  flows: SpentNow = new Map(),
): Promise<Session> {
  const turn = lastTurn === null ? null : await runtime.store.turn(lastTurn)
  return {
    id: row.id,
    agent: row.agent,
    agentName: displayAgent(runtime, row),
    title: await titleSession(runtime, row),
    cwd: row.cwd,
    model: row.model ?? findAgent(runtime, row)?.model ?? null,
    kind: row.kind,
    status: sessionStatus(
      active && row.kind !== 'external' && isRun(runtime, row),
      turn === null ? null : await lastOutcome(runtime, turn),
    ),
    active: active && row.kind !== 'external',
    away: active && row.kind !== 'external' && !isRun(runtime, row),
    ...(await seeClient(runtime, row, active)),
    parent: row.parent,
    orphan: parentArchived,
    archived: row.archived !== false,
    createdAt: row.createdAt,
    updatedAt,
    buffered,
    ...(await readSessionCost(runtime, row.id, active, flows)),
  }
}

/** What the turns of a flow that run now have used: a page of its sessions reads it once. */
type SpentNow = Map<FlowId, Promise<ReadonlyMap<TurnId, Amount>>>

/** Of what runs now, its steps so far. */
async function readSessionCost(
  { store, lists }: Runtime,
  session: SessionId,
  active: boolean,
  flows: SpentNow,
): Promise<Pick<Session, 'tokensUsed' | 'cost'>> {
  let sum = await lists.spentBy(session)
  for (const { id, flow, state } of active ? await store.turns({ session }, liveTurnsMax) : []) {
    if (state !== 'running') continue
    const spent = flows.get(flow) ?? readSpentNow(store, flow)
    flows.set(flow, spent)
    sum = addAmounts(sum, (await spent).get(id) ?? noAmount)
  }
  return { tokensUsed: sum.tokens, cost: renderCost(sum.spent) }
}

async function readSpentNow(store: Runtime['store'], flow: FlowId): Promise<ReadonlyMap<TurnId, Amount>> {
  const turns = await store.turns({ flow }, flowTurnsMax)
  return (
    await readSpent(
      store,
      turns.filter(({ state }) => state === 'running'),
    )
  ).of
}

/** R11 */
const liveTurnsMax = 20
const flowTurnsMax = 1000

/** As it was given, or the first words of its first message. */
async function titleSession({ store }: Runtime, row: SessionRow): Promise<string> {
  if (row.title !== '') return row.title
  const [first] = row.entries === 0 ? [] : await store.entriesByNumber(row.id, [1])
  if (first !== undefined) return nameText(first.text)
  const [turn] = await store.turns({ session: row.id }, 1)
  const opened = turn === undefined ? null : (await store.event(turn.openedSeq))?.event
  if (opened == null) return ''
  return nameText(opened.type === 'call.opened' ? opened.task : opensTurn(opened) ? opened.text : '')
}

export type SessionsAsk = {
  dir?: string | null | undefined
  active?: boolean | null | undefined
  agent?: string | null | undefined
  parent?: SessionId | null
  archived?: boolean | undefined
  cursor?: string | null | undefined
  limit: number
}

/** The cursor is where the last page ended. */
export async function listSessions(
  runtime: Runtime,
  ask: SessionsAsk,
): Promise<{ sessions: Session[]; next: string | null }> {
  const { dir, active, agent, parent, archived = false, cursor, limit } = ask
  const before = cursor == null ? null : /^(\d{1,15})\.(ses_.+)$/.exec(cursor)
  const page = await runtime.lists.listing(
    {
      ...(dir == null ? {} : { dir }),
      ...(active == null ? {} : { active }),
      ...(agent == null ? {} : { agent: runtime.agents.resolve?.(agent)?.name ?? agent }),
      ...(parent == null ? {} : { parent }),
      archived,
      ...(before === null ? {} : { before: { createdAt: Number(before[1]), id: before[2] as SessionId } }),
    },
    limit,
  )
  const flows: SpentNow = new Map()
  return {
    sessions: await mapGently(runtime, page.sessions, (one) => viewOfListing(runtime, one, flows)),
    next: page.next === null ? null : `${page.next.createdAt}.${page.next.id}`,
  }
}

export async function viewOfSession(runtime: Runtime, row: SessionRow): Promise<Session> {
  const facts = await runtime.store.sessionFacts(row.id)
  const [last] = row.entries === 0 ? [] : await runtime.store.entriesByNumber(row.id, [row.entries])
  const parent = row.parent === null ? null : await runtime.store.session(row.parent)
  const live = facts.running ?? facts.next
  const { waiting } = await runtime.lists.mail.counts(row.id)
  return viewOfListing(runtime, {
    row,
    active: live !== null,
    updatedAt: Math.max(row.createdAt, last?.at ?? 0, live?.openedAt ?? 0),
    parentArchived: parent !== null && parent.archived !== false,
    lastTurn: (last?.turn ?? null) as TurnId | null,
    buffered: waiting,
  })
}

/**
 * A page of a conversation, oldest first. It ends before `before` and `next` is where the page before it
 * ends; with `after` it begins there, and `next` is where the page behind it begins. Entries are numbered
 * without gaps, and those of a page stand together.
 */
export async function readHistory(
  runtime: Runtime,
  session: SessionId,
  before: number | null,
  limit: number,
  after: number | null = null,
): Promise<History | Refusal> {
  const row = await runtime.store.session(session)
  if (row === null) return { code: 'session_unknown', session }
  const end = Math.min(before ?? Infinity, row.entries + 1)
  const length = Math.max(0, Math.min(limit, end - 1 - (after ?? 0)))
  // Read from the side that the page is asked from: what it has no room for is on the other.
  const numbers = Array.from({ length }, (_, index) => (after === null ? end - 1 - index : after + 1 + index))
  const read = await runtime.store.entriesByNumber(session, numbers, pageUnitsMax)
  const last = read.at(-1)?.n ?? numbers.at(-1)
  const entries = after === null ? read.toReversed() : read
  return {
    messages: await mapGently(runtime, entries, (entry) => historyEntry(runtime, entry)),
    next: last !== undefined && (after === null ? last > 1 : last < end - 1) ? last : null,
  }
}

async function historyEntry(runtime: Runtime, entry: Entry): Promise<HistoryEntry> {
  const turn = await runtime.store.turn(entry.turn as TurnId)
  const opened = turn === null ? null : (await runtime.store.event(turn.openedSeq))?.event
  const ended =
    entry.role === 'assistant' && turn?.endedSeq != null
      ? (await runtime.store.event(turn.endedSeq))?.event
      : null
  const sent = opened != null && opensTurn(opened) ? opened : null
  const isEnd = ended?.type === 'turn.ended' || ended?.type === 'call.ended'
  const asked = entry.role === 'user'
  return {
    n: entry.n,
    role: entry.role,
    text: entry.text,
    at: entry.at,
    turn: entry.turn,
    source: asked ? (sent?.source ?? 'agent') : null,
    from: asked ? (sent === null ? (turn?.call?.caller ?? null) : sent.from) : null,
    fromAgent: asked ? await senderAgent(runtime, sent?.from ?? turn?.call?.caller ?? null) : null,
    applet: asked ? (sent?.applet ?? null) : null,
    messageId: asked ? (sent?.message ?? null) : null,
    toolCalls: isEnd ? ended.toolCalls : [],
    outcome: isEnd ? ended.outcome : null,
    error:
      ended?.type === 'turn.ended'
        ? ended.error
        : ended?.type === 'call.ended'
          ? (ended.errors[0] ?? null)
          : null,
  }
}

async function senderAgent(runtime: Runtime, session: SessionId | null): Promise<string | null> {
  const row = session === null ? null : await runtime.store.session(session)
  return row === null ? null : displayAgent(runtime, row)
}
