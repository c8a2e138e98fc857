/**
 * Why does nothing happen, or why did it end so? The one explanation that every door gives: who waits for
 * whom or what, since when and until when, what ended what, what was refused, and one sentence for each root.
 * From the log, and from what this server knows of the programs that run sessions.
 */
import { externalAgent } from '../../model/agent.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { SessionId, TurnId } from '../../model/id.ts'
import type { Explanation } from '../../wire/explain.ts'
import { findNamed, readScope, type Scope } from '../kernel/scope.ts'
import type { ExplainPorts, ExplainStore, Live } from './explain-ports.ts'
import { describeBusy } from './explain-busy.ts'
import { listEnds, listRefusals, toRefusal } from './explain-ends.ts'
import { nameClient, nameClients } from './explain-names.ts'
import { listMail } from './explain-mail.ts'
import { explainRoots } from './explain-roots.ts'
import { listWaits } from './explain-waits.ts'
import { explanationText } from './explanation-text.ts'

/** R11: how far a chain of waits is followed into other flows. */
const hopsMax = 64

/** Throws an UnknownId where there is nothing of that name; null where the asker may see nothing of it. */
export async function explainStall(ports: ExplainPorts, given: string): Promise<Explanation | null> {
  const { store, lists, now } = ports
  const found = await findNamed(store, lists, given)
  const narrowed = await narrow(ports, found)
  if (narrowed === null) return null
  const { rows: turns, clients } = await nameClients(store, narrowed.turns)
  const scope = { ...narrowed, turns }
  const events = scope.turns.length === 0 ? [] : await readScope(store, scope.turns)
  const live = new Map<TurnId, TurnRow>()
  for (const row of scope.turns) if (row.state !== 'ended') live.set(row.id, row)
  await followOthers(store, live)
  const others = [...live.values()].filter((row) => !scope.turns.some((turn) => turn.id === row.id))
  const seen = await pick(ports, others, (row) => row.session)
  for (const row of others) if (!seen.includes(row)) live.delete(row.id)
  const all = seen.length === 0 ? events : [...events, ...(await readScope(store, seen))]
  const rows: Live[] = []
  for (const row of (await nameClients(store, [...live.values()])).rows)
    rows.push({ row, session: await store.session(row.session) })
  const waits = await listWaits(ports, rows, all)
  const blocked = new Set(waits.map((wait) => wait.turn))
  const busy = rows
    .filter(({ row }) => row.state === 'running' && !blocked.has(row.id))
    .map(({ row }) => describeBusy(row, all, ports.remark?.(row.id) ?? ''))
  const refused = [...listRefusals(events, turns), ...(await readRefusal(ports, scope))]
  const parts = {
    id: scope.id,
    kind: scope.kind,
    now,
    over: live.size === 0,
    waits,
    busy,
    mail: await listMail(ports, scope, events),
    ended: listEnds(events, scope.turns),
    refused,
  }
  const explained = { ...parts, roots: await explainRoots(ports, scope, events, parts, clients) }
  return { ...explained, text: explanationText(explained) }
}

async function pick<T>(
  { sees }: ExplainPorts,
  all: readonly T[],
  session: (one: T) => SessionId,
): Promise<T[]> {
  if (sees === undefined) return [...all]
  const seen: T[] = []
  for (const one of all) if (await sees(session(one))) seen.push(one)
  return seen
}

/** What the asker may see of it: the turns of sessions that it may see. */
async function narrow(ports: ExplainPorts, scope: Scope): Promise<Scope | null> {
  const turns = await pick(ports, scope.turns, (row) => row.session)
  if (turns.length > 0 || ports.sees === undefined) return { ...scope, turns }
  const refused = scope.kind === 'call' ? await ports.store.refused(scope.id) : null
  const own = scope.turns.length > 0 ? null : (refused?.event.session ?? scope.id)
  return own !== null && (await ports.sees(own as SessionId)) ? scope : null
}

/** A call that was refused has no turn; its refusal is all that there is to say of it. */
async function readRefusal({ store }: ExplainPorts, { id, kind, turns }: Scope) {
  const stored = kind === 'call' && turns.length === 0 ? await store.refused(id) : null
  if (stored?.event.type !== 'call.refused') return []
  const { session } = stored.event
  const agent = (await store.session(session))?.agent ?? session
  const caller = agent === externalAgent.name ? await nameClient(store, session) : agent
  return [toRefusal(stored.event, stored.at, caller)]
}

/** What is queued waits for the turn before it, perhaps of another flow, and for what that one waits for. */
async function followOthers(store: ExplainStore, live: Map<TurnId, TurnRow>): Promise<void> {
  const todo = [...live.values()]
  for (let hops = 0; hops < hopsMax; hops += 1) {
    const row = todo.shift()
    if (row === undefined) return
    const before = row.state === 'queued' ? (await store.sessionFacts(row.session)).running : null
    const below = row.state === 'running' ? await store.turns({ callerTurn: row.id }, hopsMax) : []
    for (const next of [...(before === null ? [] : [before]), ...below]) {
      if (live.has(next.id) || next.state === 'ended') continue
      live.set(next.id, next)
      todo.push(next)
    }
  }
}
