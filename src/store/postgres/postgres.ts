/**
 * The store of a cluster: the log and the leases in PostgreSQL, shared by all nodes, and the views of each node
 * in a file of its own. Decisions are made on views that have everything that their keys protect. Other reads may
 * be a moment behind what another node has just committed; one that finds nothing looks there first.
 */
import type { DamagedRow } from '../../model/damaged-row.ts'
import type { Millis } from '../../model/id.ts'
import type { QueueOptions } from '../queue-options.ts'
import { StoreFault } from '../directory.ts'
import { selectEntriesGently } from '../entries.ts'
import { prepareFacts } from '../fact-statements.ts'
import { sessionFacts, turnFacts, type Reading } from '../facts.ts'
import { prepareLists } from '../lists.ts'
import { readTransactions } from '../log-row.ts'
import { trackOutage } from '../outage.ts'
import { prepareReads } from '../reads.ts'
import { cleanAlready, type OpenStore } from '../sqlite.ts'
import { adjustOffset } from './clock-offset.ts'
import { explainFault, LogReplaced } from './fault-words.ts'
import { connect, describePlace, LinkFault, type Link } from './link.ts'
import { GroupQueue } from './queue.ts'
import { openPatiently } from './open-patiently.ts'
import { beat, forgetNodes, isBehind, prepareTables } from './remote.ts'
import { deleteReplica, openReplica, type Replica } from './replica.ts'
import { placesIn, type Places } from './schema.ts'
import { SideLink } from './side-link.ts'

export type PostgresOptions = Partial<QueueOptions> & {
  /** `postgres://…`; what it leaves out, or all of it, comes from the variables `PG…`. */
  url: string
  /** Where this node keeps its views, or ':memory:'. */
  directory: string
  schema?: string
  now: () => Millis
  elapsed: () => Millis
  sleep: (ms: number) => Promise<void>
  /** False: `now` is the time of the transactions, for tests and for logs that are copied. */
  databaseTime?: boolean
  onDamage?: (fault: DamagedRow) => void
}

export type NodeRow = { id: string; until: Millis; about: string | null }

export type PostgresStore = OpenStore & {
  /** The database's time, as well as this machine can tell. */
  now(): Millis
  /** Reads what others have committed up to now. */
  look(): Promise<void>
  nodes(): Promise<NodeRow[]>
  /** What others should know of this node; it goes out with every heartbeat. */
  setAbout(about: () => string): void
  /** Words to those who listen now, on all nodes but this one; they are not kept. */
  say(text: string): void
  onWords(listener: (text: string) => void): () => void
  /** Works that ran again because they lacked keys. */
  reruns(): number
}

/** A database that is back is found so soon, however long it was away. */
const pauseMsMax = 250
const nodesKeptMs = 3_600_000

export const postgresStore = (options: PostgresOptions): Promise<PostgresStore> =>
  openPatiently(() => openOnce(options), options)

async function openOnce(options: PostgresOptions): Promise<PostgresStore> {
  const where = describePlace(options.url)
  const first = await reach(options, where)
  try {
    return await openWith(first, where, options)
  } catch (fault) {
    // What is left open would keep a process alive that has nothing to do.
    first.close()
    throw fault
  }
}

async function openWith(first: Link, where: string, options: PostgresOptions): Promise<PostgresStore> {
  const { directory, schema = 'tieline', onDamage = () => undefined } = options
  const places = placesIn(schema)
  const { log } = await prepareTables(first, places, where)
  const [marked] = await first.run('select gen_random_uuid()::text as id')
  const self = marked?.rows[0]?.['id'] ?? ''
  let replica = openReplica({ directory, log, onDamage })
  try {
    if (!(await isBehind(first, places, replica))) {
      // The database was restored to an earlier moment: what this node has seen since is gone.
      replica.close()
      deleteReplica(directory)
      replica = openReplica({ directory, log, onDamage })
    }
  } catch (fault) {
    replica.close()
    throw fault
  }
  const cluster = new Cluster(options, places, where, self, replica, first)
  try {
    await cluster.queue.look()
  } catch (fault) {
    await cluster.close()
    throw fault
  }
  return present(cluster, replica)
}

async function reach({ url, sleep }: PostgresOptions, where: string): Promise<Link> {
  try {
    return await connect({ url, sleep })
  } catch (cause) {
    const { reason, cure } = explainFault(cause)
    throw new StoreFault(`${where} cannot be used: ${reason}. ${cure}`, { cause })
  }
}

class Cluster {
  readonly queue: GroupQueue
  readonly side: SideLink
  readonly heard = new Set<(text: string) => void>()
  readonly beating = new Set<string>()
  readonly outage
  about: (() => string) | null = null
  readonly #options: PostgresOptions
  readonly #replica: Replica
  readonly places: Places
  #write: Link | null
  #offset = 0
  #closing: Promise<void> | null = null

  constructor(
    options: PostgresOptions,
    places: Places,
    where: string,
    self: string,
    replica: Replica,
    first: Link,
  ) {
    this.#options = options
    this.places = places
    this.#replica = replica
    this.#write = first
    const { elapsed, sleep, cleaner = cleanAlready, onHealth = () => undefined } = options
    const now = (): Millis => this.now()
    this.outage = trackOutage(where, { now, elapsed }, onHealth, explainFault, pauseMsMax)
    this.side = new SideLink({
      url: options.url,
      places,
      self,
      sleep,
      // A look that fails is no fault: the next one, or the next transaction, finds the same.
      onNews: () => void this.queue.look().catch(() => undefined),
      onWords: (text) => this.heard.forEach((listener) => listener(text)),
    })
    let marks = 0
    this.queue = new GroupQueue(replica, {
      now,
      elapsed,
      cleaner,
      places,
      sleep,
      outage: this.outage,
      writeLink: () => this.#writeLink(),
      sideLink: () => this.side.link(),
      setNow: (at, since) => this.#setNow(at, since),
      tell: () => this.side.tell(),
      newMark: () => `${self}-${(marks += 1)}`,
    })
  }

  now(): Millis {
    return Math.floor(this.#options.now() + this.#offset)
  }

  #setNow(at: Millis, since: Millis): Millis {
    if (this.#options.databaseTime === false) return this.now()
    const received = this.#options.now()
    const sent = received - (this.#options.elapsed() - since)
    this.#offset = adjustOffset(this.#offset, { at, sent, received })
    return at
  }

  async #writeLink(): Promise<Link> {
    if (this.#write?.isOpen() === true) return this.#write
    const link = await connect(this.#options)
    if (!(await isBehind(link, this.places, this.#replica))) {
      link.close()
      throw new LogReplaced('PostgreSQL does not have what it had acknowledged: it was restored, or replaced')
    }
    return (this.#write = link)
  }

  async beat(node: string, ttlMs: number): Promise<void> {
    const { queue, outage, places } = this
    if (queue.isClosed()) throw new StoreFault('the store is closed')
    // After an outage somebody has to be the first to try.
    if (!outage.isOver()) await queue.transact([], async () => undefined)
    const until = this.#options.databaseTime === false ? this.now() + ttlMs : null
    const fail = (fault: unknown): never => {
      throw outage.begin(fault)
    }
    const link = await this.side.link().catch(fail)
    const since = this.#options.elapsed()
    const about = this.about?.() ?? null
    const lease = await beat(link, places, node, ttlMs, { until, about }).catch(fail)
    this.#setNow(lease.now, since)
    this.beating.add(node)
    await queue.locally(() => this.#replica.setLease(lease))
  }

  async nodes(): Promise<NodeRow[]> {
    const sql = `select id, until, about from ${this.places.schema}.nodes order by id`
    const [answer] = await this.side
      .link()
      .then((link) => link.run(sql))
      .catch((fault: unknown) => {
        throw this.outage.begin(fault)
      })
    const rows = answer?.rows ?? []
    return rows.map(({ id, until, about = null }) => ({ id: id ?? '', until: Number(until), about }))
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.queue.drain()
    // Others need not wait for the lease to end.
    if (this.#write?.isOpen() === true) {
      const { places, beating } = this
      const link = this.#write
      try {
        for (const node of beating) await beat(link, places, node, 0)
        await forgetNodes(link, places, this.now() - nodesKeptMs)
        if (beating.size > 0) await link.run(`notify ${places.channel}, 'end news'`)
      } catch {
        // Then they wait.
      }
      link.close()
    }
    await this.side.close()
    this.#replica.close()
  }
}

function present(cluster: Cluster, replica: Replica): PostgresStore {
  const [{ queue }, { reader }] = [cluster, replica]
  const sql = prepareFacts(reader)
  const reads = prepareReads(reader)
  const reading = (): Reading => ({ sql, now: cluster.now(), held: null })
  /** What is not here may have been committed elsewhere just now. */
  const found = async <T>(read: () => Promise<T>, isMissing: (value: T) => boolean): Promise<T> => {
    const here = await read()
    if (!isMissing(here) || queue.isClosed()) return here
    const looked = await queue.look().then(
      () => true,
      // While PostgreSQL is away, reading goes on with what is here.
      (fault: unknown) => !(fault instanceof LinkFault) && false,
    )
    return looked ? read() : here
  }
  const isNull = (value: unknown): boolean => value === null
  return {
    ...reads,
    session: (id) => found(() => reads.session(id), isNull),
    event: (seq) => found(() => reads.event(seq), isNull),
    refused: (call) => found(() => reads.refused(call), isNull),
    turn: (id) => found(async () => turnFacts(reading(), id)?.turn ?? null, isNull),
    sessionFacts: (id) =>
      found(
        async () => sessionFacts(reading(), id),
        ({ session }) => session === null,
      ),
    entries: (session, select) => selectEntriesGently(reader, session, select),
    lists: prepareLists(reader),
    db: replica.writer.db,
    commits: () => queue.commits,
    transactions: () => readTransactions(reader, () => replica.seq),
    // Every node has a copy of the whole log: there is no file that one of them could shorten for all.
    archive: null,
    reruns: () => queue.reruns,
    now: () => cluster.now(),
    look: () => queue.look(),
    lastSeq: () => replica.seq,
    health: () => cluster.outage.health(),
    transact: (keys, work) => queue.transact(keys, work),
    onHint(listener) {
      queue.listeners.add(listener)
      return () => queue.listeners.delete(listener)
    },
    heartbeat: (node, ttlMs) => cluster.beat(node, ttlMs),
    setAbout: (about) => void (cluster.about = about),
    nodes: () => cluster.nodes(),
    say: (text) => cluster.side.say(text),
    onWords(listener) {
      cluster.heard.add(listener)
      return () => cluster.heard.delete(listener)
    },
    close: () => cluster.close(),
  }
}
