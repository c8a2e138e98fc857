/** Replays of what a small world recorded, and logs that somebody has tampered with. */
import type { Event } from '../../src/model/event.ts'
import { replay, type Replay } from '../../src/runtime/replay/replay.ts'
import type { ReplayPorts } from '../../src/runtime/replay/replaying.ts'
import type { SetupParts } from '../../src/runtime/look/replay-setup.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { sqliteStore, type SqliteStore } from '../../src/store/sqlite.ts'
import type { World } from './world.ts'

/** Long enough for what is under way, short enough for a test that ends in a difference. */
const quietMs = 60

/** The world's configuration, without its store, its node and its time. */
export const portsOf = (w: World, store: SqliteStore = w.store): ReplayPorts => {
  const { agents, tools, limits, count, subagent, schemas } = w.node.runtime
  return { store, agents, tools, limits, count, subagent, schemas, clock: systemClock, quietMs }
}

/** What goes with an export of this world. */
export const setupOf = (w: World): SetupParts => {
  const { agents, limits, subagent } = w.node.runtime
  return {
    agents,
    limits,
    subagent,
    artifactKinds: ['note', 'path', 'diff', 'json'],
    tools: { enable: ['*'], defaults: {}, locked: {} },
    inCode: { agents: [], tools: [] },
  }
}

export const replayed = (w: World, id: string, store?: SqliteStore): Promise<Replay> =>
  replay(portsOf(w, store), id)

export async function flowOf(w: World): Promise<string> {
  const sent = (await w.events('message.sent')).at(-1)
  if (sent === undefined) throw new Error('nothing was sent')
  return sent.event.flow
}

type Transaction = { seq: number; at: number; events: Event[] }

/** A copy of the log in a store of its own, changed on the way; the views are folded from what came out. */
export async function tampered(w: World, change: (events: Event[]) => Event[]): Promise<SqliteStore> {
  const rows = w.store.db.prepare('select seq, at, events from log order by seq').all() as {
    seq: number
    at: number
    events: string
  }[]
  const log = rows.map((row): Transaction => ({
    seq: row.seq,
    at: row.at,
    events: JSON.parse(row.events) as Event[],
  }))
  let now = 0
  const store = sqliteStore({ directory: ':memory:', now: () => now })
  for (const { at, events } of log) {
    const changed = change(events)
    now = at
    if (changed.length > 0)
      await store.transact(
        changed.map((event) => `session:${event.session}` as const),
        async (tx) => tx.append(...changed),
      )
  }
  return store
}
