/** The store inside the process: a log and its views in one SQLite file. */
import type { DatabaseSync } from 'node:sqlite'
import type { DamagedRow } from '../model/damaged-row.ts'
import type { Millis, SessionId, TurnId } from '../model/id.ts'
import type { Lists } from '../runtime/kernel/lists-port.ts'
import type { StoreHealth } from '../runtime/kernel/store-health.ts'
import type { Cleaner, Due, EventPage, Store } from '../runtime/kernel/store-port.ts'
import { archiveFlows, type ArchiveAsk, type Archived } from './archive/archive-flows.ts'
import { freePages } from './archive/free-pages.ts'
import { CommitQueue } from './commit-queue.ts'
import type { QueueOptions } from './queue-options.ts'
import { selectEntriesGently } from './entries.ts'
import { checkInBackground, nothingChecked } from './file-check.ts'
import { prepareFacts } from './fact-statements.ts'
import { sessionFacts, turnFacts, type Reading } from './facts.ts'
import { prepareLists } from './lists.ts'
import { readTransactions, type StoredTransaction } from './log-row.ts'
import { openLogSync } from './log-sync.ts'
import { prepareReads } from './reads.ts'
import { openFiles, type OpenFiles } from './writer.ts'

type SqliteOptions = Partial<QueueOptions> & {
  /** A data directory, ':memory:', or an empty database in memory that somebody made. */
  directory: string | DatabaseSync
  now: () => Millis
  /** Called with a row of the log that cannot be read, each time that a read comes across it. */
  onDamage?: (fault: DamagedRow) => void
  /** How commits become durable; another one in simulated worlds. */
  openSync?: typeof openLogSync
}

/** What a line needs of its store besides the port: lists, and the file with its views. */
export type OpenStore = Store & {
  readonly lists: Lists
  readonly db: DatabaseSync
  readonly commits: () => number
  /** R2: the whole log as it is when the first row is read, without what is not durable. */
  readonly transactions: () => Iterable<StoredTransaction>
  /** Moves what ended long ago to segments. Null where the log is not a file of this process alone. */
  readonly archive: ((ask: ArchiveAsk) => Promise<Archived>) | null
}

/** `logDb` is the same connection as `db`, of whose tables only the log is up to date. */
export type SqliteStore = OpenStore & { readonly logDb: DatabaseSync }

/** Where nothing has to be taken out of events. */
export const cleanAlready: Cleaner = { clean: () => null, inspect: () => Promise.resolve(null) }

const nothingDue: Due = { calls: [], sessions: [], next: null, turns: [], lost: [] }

export function sqliteStore({
  directory,
  onDamage = () => undefined,
  openSync = openLogSync,
  ...given
}: SqliteOptions): SqliteStore {
  const files = openFiles(directory, onDamage, openSync)
  const { now } = given
  const options = { elapsed: now, cleaner: cleanAlready, onHealth: () => undefined, ...given }
  const queue = new CommitQueue(files, options)
  // R2: reads outside a transaction use a connection that sees only what was committed.
  const { file, isSuspect, reader } = files
  const check =
    file === null || !isSuspect
      ? nothingChecked
      : checkInBackground(file.path, (fault) => void queue.outage.begin(fault))
  const committed = reader === files.db ? queue.writer.facts : prepareFacts(reader)
  const reading = (): Reading => ({ sql: committed, now: now(), held: null })
  const logged = prepareReads(reader)
  const reads = afterAll(logged, queue)
  const turnNow = after(async (id: TurnId) => turnFacts(reading(), id)?.turn ?? null, queue)
  const sessionNow = after(async (id: SessionId) => sessionFacts(reading(), id), queue)
  const readEntries: Store['entries'] = (...asked) => selectEntriesGently(reader, ...asked)
  const entriesNow = after(readEntries, queue)
  const { conversations } = queue.behind
  let closing: Promise<void> | null = null
  return {
    ...reads,
    event: async (seq) => (seq > queue.durable ? null : logged.event(seq)),
    read: async (from, filter, limit) => {
      // Only whose events they are stands in a view.
      const page = await (filter.sessions === undefined ? logged : reads).read(from, filter, limit)
      return queue.isSettled() ? page : cutPage(page, queue.durable)
    },
    // Nothing can be done about it, and what opened it may not be in the log.
    due: async (...given) => (queue.outage.isOver() ? reads.due(...given) : nothingDue),
    lists: afterLists(prepareLists(reader), queue),
    get db() {
      queue.catchUpHere()
      return queue.writer.db
    },
    get logDb() {
      return queue.writer.db
    },
    commits: () => queue.commits,
    transactions: () => readTransactions(reader, () => queue.durable),
    archive: files.file === null ? null : (ask) => archiveIn(queue, reader, ask),
    lastSeq: () => queue.durable,
    health: () => withProgress(queue.outage.health(), check.progress()),
    transact: (keys, work, urgent) => queue.transact(keys, work, urgent),
    turn: async (id) => (await queue.known())?.turn(id)?.turn ?? turnNow(id),
    session: async (id) =>
      queue.behind.live.row(id, queue.durable) ?? (await queue.known())?.row(id) ?? reads.session(id),
    sessionFacts: async (id) => (await queue.known())?.session(id, now()) ?? sessionNow(id),
    entries: async (session, select) =>
      conversations.page(session, select, queue.durable) ??
      conversations.learn(session, select, () =>
        (queue.isSettled() && !queue.behind.lacksEntries(session) ? readEntries : entriesNow)(
          session,
          select,
        ),
      ),
    onHint(listener) {
      queue.listeners.add(listener)
      return () => queue.listeners.delete(listener)
    },
    heartbeat: (node, ttlMs) => queue.transact([], async () => queue.behind.beat(node, now() + ttlMs)),
    close: () => (closing ??= check.close().then(() => closeFiles(files, queue))),
  }
}

async function closeFiles(
  { reader, checkpoints, logSync, release }: OpenFiles,
  queue: CommitQueue,
): Promise<void> {
  await queue.drain()
  queue.catchUpHere()
  await checkpoints?.close()
  await logSync?.close()
  if (reader !== queue.writer.db) reader.close()
  queue.writer.db.close()
  release()
}

const withProgress = (health: StoreHealth, checking: { done: number; of: number } | null): StoreHealth =>
  health.state === 'ok' && checking !== null ? { ...health, checking } : health

/** R1 does not matter here: what is moved is read from its segment, whatever was decided meanwhile. */
async function archiveIn(queue: CommitQueue, reader: DatabaseSync, ask: ArchiveAsk): Promise<Archived> {
  const commit = (write: (db: DatabaseSync) => void): Promise<void> =>
    queue.transact([], async () => {
      // A row that the views do not have yet must not leave the log before they do.
      queue.catchUpHere()
      write(queue.writer.db)
    })
  const done = await archiveFlows({ reader, commit }, ask)
  if (done.segments > 0) await freePages(reader, commit)
  return done
}

type Follower = Pick<CommitQueue, 'catchUp' | 'settling' | 'outage' | 'unsure'>

/**
 * Views may be behind the log: a read of them waits until they have what is committed. R2: one that took its time may
 * have met a commit that was not durable yet, and is answered when that is known. Where the disk failed,
 * nobody knows whether that commit stays, and nobody is answered from views that have it.
 */
const after =
  <Given extends unknown[], Found>(read: (...given: Given) => Promise<Found>, queue: Follower) =>
  async (...given: Given): Promise<Found> => {
    const follows = queue.catchUp()
    if (follows !== null) await follows
    const found = await read(...given)
    const settling = queue.settling()
    if (settling !== null) await settling
    if (queue.outage.isOver()) return found
    const fault = queue.unsure()
    if (fault !== null) throw fault
    return settling === null ? found : read(...given)
  }

type Asked = Record<string, (...given: never[]) => Promise<unknown>>

const afterAll = <T extends object>(reads: T, queue: Follower): T =>
  Object.fromEntries(
    Object.entries(reads as Asked).map(([name, read]) => [name, after(read, queue)]),
  ) as unknown as T

const afterLists = ({ mail, ...lists }: Lists, queue: Follower): Lists => ({
  ...afterAll(lists, queue),
  mail: afterAll(mail, queue),
})

/**
 * R2: a commit that is not durable yet, or whose sync failed, is there to read, and may be lost with the machine. Until
 * that is known nobody reads of it, because who does takes it for a yes.
 */
const cutPage = (page: EventPage, durable: number): EventPage => ({
  ...page,
  events: page.events.filter(({ seq }) => seq <= durable),
  next: Math.min(page.next, durable),
  more: page.more && page.next < durable,
})
