/** The store inside the process: a log and its views in one SQLite file. */
import type { DatabaseSync } from 'node:sqlite'
import type { DamagedRow } from '../model/damaged-row.ts'
import type { Millis } from '../model/id.ts'
import type { Lists } from '../runtime/kernel/lists-port.ts'
import type { Cleaner, Due, EventPage, Store } from '../runtime/kernel/store-port.ts'
import { CommitQueue, type QueueOptions } from './commit-queue.ts'
import { selectEntriesGently } from './entries.ts'
import { prepareFacts } from './fact-statements.ts'
import { sessionFacts, turnFacts, type Reading } from './facts.ts'
import { prepareLists } from './lists.ts'
import { prepareReads } from './reads.ts'
import { openFiles } from './writer.ts'

type SqliteOptions = Partial<QueueOptions> & {
  /** A data directory, or ':memory:'. */
  directory: string
  now: () => Millis
  /** Called with a row of the log that cannot be read, each time that a read comes across it. */
  onDamage?: (fault: DamagedRow) => void
}

/** What a line needs of its store besides the port: lists, and the file with its views. */
export type OpenStore = Store & {
  readonly lists: Lists
  readonly db: DatabaseSync
  readonly commits: () => number
}

export type SqliteStore = OpenStore

/** Where nothing has to be taken out of events. */
export const cleanAlready: Cleaner = { clean: () => null, inspect: () => Promise.resolve(null) }

const nothingDue: Due = { calls: [], sessions: [], next: null, turns: [], lost: [] }

export function sqliteStore({ directory, onDamage = () => undefined, ...given }: SqliteOptions): SqliteStore {
  const files = openFiles(directory, onDamage)
  const { now } = given
  const options = { elapsed: now, cleaner: cleanAlready, onHealth: () => undefined, ...given }
  const queue = new CommitQueue(files, options)
  // R2: reads outside a transaction use a connection that sees only what was committed.
  const { reader } = files
  const committed = reader === files.db ? queue.writer.facts : prepareFacts(reader)
  const reading = (): Reading => ({ sql: committed, now: now(), held: null })
  const reads = prepareReads(reader)
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    await queue.drain()
    if (reader !== queue.writer.db) reader.close()
    queue.writer.db.close()
    files.release()
  }
  return {
    ...reads,
    event: async (seq) => (seq > queue.seq ? null : reads.event(seq)),
    read: async (after, filter, limit) => {
      const page = await reads.read(after, filter, limit)
      return queue.outage.isOver() ? page : cutPage(page, queue.seq)
    },
    // Nothing can be done about it, and what opened it may not be in the log.
    due: async (...given) => (queue.outage.isOver() ? reads.due(...given) : nothingDue),
    lists: prepareLists(reader),
    get db() {
      return queue.writer.db
    },
    commits: () => queue.commits,
    lastSeq: () => queue.seq,
    health: () => queue.outage.health(),
    transact: (keys, work) => queue.transact(keys, work),
    turn: async (id) => turnFacts(reading(), id)?.turn ?? null,
    sessionFacts: async (id) => sessionFacts(reading(), id),
    entries: (session, select) => selectEntriesGently(reader, session, select),
    onHint(listener) {
      queue.listeners.add(listener)
      return () => queue.listeners.delete(listener)
    },
    heartbeat: (node, ttlMs) =>
      queue.transact([], async () => void queue.writer.heartbeat.run(node, now() + ttlMs)),
    close: () => (closing ??= close()),
  }
}

/**
 * R2: a commit that reported a fault may be there all the same, and may be lost with the machine. Until that is
 * known nobody reads of it, because who does takes it for a yes.
 */
const cutPage = (page: EventPage, durable: number): EventPage => ({
  ...page,
  events: page.events.filter(({ seq }) => seq <= durable),
  next: Math.min(page.next, durable),
  more: page.more && page.next < durable,
})
