/**
 * Mail as files that other programs can open. The log is the truth: this reads it at its own pace, from where
 * it was, so that nothing waits for it and nothing is lost with it.
 * At the start every place is checked; what is missing, damaged or changed is made anew from the log.
 */
import type { StoredEvent } from '../model/event.ts'
import type { MessageId, SessionId } from '../model/id.ts'
import type { MailDesk } from '../runtime/desk/mail.ts'
import type { Clock, Store } from '../runtime/ports.ts'
import { agentFsStorage, findAgentFs } from './agentfs-storage.ts'
import { logNameOf, readCursor, writeCursor, type MailCursor } from './mail-cursor.ts'
import { mailFiles } from './mail-files.ts'
import { mailTypes, toolTypes, touchedBy, type Touched } from './mail-fold.ts'
import { isFileName, type MailStorage } from './mail-storage.ts'
import { isRefusal } from '../model/refusal.ts'

export type MailViewDeps = {
  storage: 'sqlite' | 'agentfs' | 'files'
  directory: string
  /** Turso's capture of changes. */
  cdc: boolean
  /** Uses of tools are written down too, where the storage has a log for them. */
  tracing: boolean
  store: Pick<Store, 'read' | 'lastSeq'>
  mail: Pick<MailDesk, 'get'>
  clock: Pick<Clock, 'sleep'>
  warn: (text: string) => void
  /** Another name of the package. */
  sdk?: string
}

export type MailView = {
  /** Events as they are committed. Never throws, never waits. */
  events(events: readonly StoredEvent[]): void
  /** Resolves when everything that was in the log by then is in the view, or the view has given up. */
  settled(): Promise<void>
  close(): Promise<void>
}

const pageSize = 200
/** Events that change nothing move the cursor too, now and then. */
const idleStride = 1000
const relevant: ReadonlySet<string> = new Set([...mailTypes, ...toolTypes])

/** Null where the log alone is wanted, or what is wanted is not installed. */
export async function mailView(deps: MailViewDeps): Promise<MailView | null> {
  const storage = storageOf(deps)
  return storage === null ? null : viewOf(deps, storage)
}

function storageOf({ storage, directory, cdc, warn, sdk }: MailViewDeps): MailStorage | null {
  if (storage === 'sqlite') return null
  if (storage === 'files') return mailFiles(directory)
  const found = findAgentFs(sdk)
  if (found === null)
    warn(
      'mail.storage: "agentfs" needs the package agentfs-sdk, which is not installed. Mail works and stays in the log; for the AgentFS databases run: npm install agentfs-sdk@0.6.4, or set mail.storage to "files" or "sqlite".',
    )
  return found === null ? null : agentFsStorage({ directory, cdc, sdk: found })
}

type Reading = {
  deps: MailViewDeps
  storage: MailStorage
  log: string
  cursor: MailCursor
  /** What the file says. */
  written: number
  /** Sessions that could not be written; they are made anew at the next start. */
  broken: Set<SessionId>
  warn: (text: string) => void
  closing: AbortSignal
}

function viewOf(deps: MailViewDeps, storage: MailStorage): MailView {
  const closing = new AbortController()
  const warned = new Set<string>()
  const warn = (text: string): void => {
    if (warned.size < 100 && !warned.has(text)) deps.warn(text)
    warned.add(text)
  }
  let reading: Reading | null = null
  let running: Promise<void> | null = null
  let off = false
  const run = async (): Promise<void> => {
    try {
      reading ??= await begin(deps, storage, warn, closing.signal)
      if (reading !== null) await readOn(reading)
    } catch (error) {
      if (closing.signal.aborted) return
      off = true
      warn(
        `mail.storage: the ${deps.storage} view has stopped and goes on at the next start; mail itself is not affected: ${wordsOf(error)}`,
      )
    }
  }
  const wake = (): void => {
    if (off || running !== null || closing.signal.aborted) return
    running = run().finally(() => {
      running = null
      if (reading !== null && reading.cursor.seq < deps.store.lastSeq()) wake()
    })
  }
  wake()
  return {
    events(events) {
      const [first, last] = [events[0], events.at(-1)]
      if (first === undefined || last === undefined) return
      if (
        running !== null ||
        reading === null ||
        first.seq !== reading.cursor.seq + 1 ||
        events.some(({ event }) => relevant.has(event.type))
      )
        wake()
      else reading.cursor.seq = last.seq
    },
    async settled() {
      const until = deps.store.lastSeq()
      for (wake(); running !== null && (reading === null || reading.cursor.seq < until); wake()) await running
    },
    async close() {
      closing.abort()
      await running
      if (reading !== null && !off)
        await keepCursor(reading).catch((error: unknown) => warn(`mail.storage: ${wordsOf(error)}`))
      await storage.close()
    },
  }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Where it was, with every place checked. */
async function begin(
  deps: MailViewDeps,
  storage: MailStorage,
  warn: Reading['warn'],
  closing: AbortSignal,
): Promise<Reading | null> {
  const name = await logNameOf(deps.store)
  if (name === null) return null
  // Without uses of tools a place is another one: it is made anew when they are wanted again.
  const log = deps.tracing && storage.tools ? `${name}-traced` : name
  const cursor = (await readCursor(deps.directory, log, deps.storage, deps.store.lastSeq())) ?? {
    seq: 0,
    sessions: new Map(),
  }
  const reading: Reading = {
    deps,
    storage,
    log,
    cursor,
    written: cursor.seq,
    broken: new Set(),
    warn,
    closing,
  }
  for (const [session, seq] of cursor.sessions) {
    closing.throwIfAborted()
    await guarded(reading, session, async () => {
      const found = seq < 0 ? null : await storage.check(session, log)
      if (found !== null && found >= seq && found <= deps.store.lastSeq()) cursor.sessions.set(session, found)
      else await rebuild(reading, session)
    })
    await deps.clock.sleep(0, closing)
  }
  return reading
}

/** What is wrong with one place stays with it. */
async function guarded(reading: Reading, session: SessionId, work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    reading.closing.throwIfAborted()
    reading.broken.add(session)
    reading.cursor.sessions.set(session, -1)
    reading.warn(
      `mail.storage: the ${reading.deps.storage} view of ${session} could not be written and is made anew at the next start: ${wordsOf(error)}`,
    )
    return false
  }
}

async function readOn(reading: Reading): Promise<void> {
  const { cursor, deps, closing } = reading
  const tracing = deps.tracing && reading.storage.tools
  while (!closing.aborted && cursor.seq < deps.store.lastSeq()) {
    const { events, next } = await deps.store.read(cursor.seq, {}, pageSize)
    let changed = false
    for (const [session, touched] of touchedBy(events, tracing)) {
      if (closing.aborted) return
      if (!reading.broken.has(session) && isFileName(session))
        changed = (await bring(reading, session, touched, next)) || changed
    }
    cursor.seq = next
    if (changed || next - reading.written >= idleStride) await keepCursor(reading)
    // Reading is done in one go; others have their turn in between. The reader may also be a moment behind
    // the writer.
    await deps.clock.sleep(events.length === 0 ? 1 : 0, closing)
  }
}

async function keepCursor(reading: Reading): Promise<void> {
  if (reading.written === reading.cursor.seq && reading.cursor.sessions.size === 0) return
  await writeCursor(reading.deps.directory, reading.log, reading.deps.storage, reading.cursor)
  reading.written = reading.cursor.seq
}

/** True where something was written. */
async function bring(
  reading: Reading,
  session: SessionId,
  { messages, tools }: Touched,
  seq: number,
): Promise<boolean> {
  const known = reading.cursor.sessions.get(session)
  // Only mail makes a place; and a place may be ahead of the cursor.
  if (known === undefined ? messages.size === 0 : seq <= known) return false
  let changed = false
  await guarded(reading, session, async () => {
    const texts = await textsOf(reading, session, messages)
    if (texts.length === 0 && (known === undefined || tools.length === 0)) return
    changed = true
    const from = known ?? (await found(reading, session))
    if (from === null) return rebuild(reading, session)
    if (from < seq)
      await reading.storage.apply(session, reading.log, {
        seq,
        fresh: false,
        messages: texts,
        tools: tools.filter((tool) => tool.seq > from),
      })
    reading.cursor.sessions.set(session, Math.max(from, seq))
  })
  return changed || reading.broken.has(session)
}

/**
 * A place that the cursor does not know, because a crash came before it was written or because it was lost.
 */
async function found({ storage, log, cursor, deps }: Reading, session: SessionId): Promise<number | null> {
  const seq = await storage.check(session, log)
  return seq !== null && seq >= cursor.seq && seq <= deps.store.lastSeq() ? seq : null
}

/** A place from nothing: all mail of a session as it stands now, and all its uses of tools from the first. */
async function rebuild({ deps, storage, log, cursor, closing }: Reading, session: SessionId): Promise<void> {
  const tracing = deps.tracing && storage.tools
  const filter = { sessions: [session], types: tracing ? [...mailTypes, ...toolTypes] : mailTypes }
  const seen = new Set<MessageId>()
  let [after, until, fresh] = [0, deps.store.lastSeq(), true]
  for (;;) {
    closing.throwIfAborted()
    const { events, next } = await deps.store.read(after, filter, pageSize)
    if (events.length === 0) break
    const { messages, tools } = touchedBy(events, tracing).get(session) ?? {
      messages: new Set<MessageId>(),
      tools: [],
    }
    await storage.apply(session, log, {
      seq: -1,
      fresh,
      messages: await textsOf(
        { deps },
        session,
        new Set([...messages].filter((message) => !seen.has(message))),
      ),
      tools,
    })
    for (const message of messages) seen.add(message)
    ;[after, until, fresh] = [next, Math.max(until, next), false]
    await deps.clock.sleep(0, closing)
  }
  await storage.apply(session, log, { seq: until, fresh, messages: [], tools: [] })
  cursor.sessions.set(session, until)
}

/**
 * Records as everybody sees them, of what is mail to this session. What a user says to a session directly is
 * a turn and no mail, until somebody answers it with mail.
 */
async function textsOf(
  { deps }: Pick<Reading, 'deps'>,
  session: SessionId,
  messages: ReadonlySet<MessageId>,
): Promise<{ id: MessageId; text: string }[]> {
  const texts: { id: MessageId; text: string }[] = []
  for (const id of messages) {
    const record = await deps.mail.get(id)
    if (isRefusal(record) || record.to !== session || record.draft || !isFileName(record.id)) continue
    const isTalk =
      record.from === null &&
      record['in-reply-to'] === null &&
      !record.buffered &&
      record.created_at === record.updated_at
    if (!isTalk) texts.push({ id: record.id, text: `${JSON.stringify(record, null, 2)}\n` })
  }
  return texts
}
