/**
 * Reads the log into the places of a view of mail, from where it was.
 * At the start it checks every place, and rebuilds from the log what is missing, damaged or changed.
 */
import type { MessageId, SessionId } from '../model/id.ts'
import { isRefusal } from '../model/refusal.ts'
import type { MailDesk } from '../runtime/desk/mail.ts'
import type { Store } from '../runtime/kernel/store-port.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { identifyLog, readCursor, writeCursor, type MailCursor } from './mail-cursor.ts'
import { mailTypes, toolTypes, collectTouched, type Touched } from './mail-fold.ts'
import { isFileName, type MailStorage } from './mail-storage.ts'

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
  /** Overrides the name of the AgentFS package. */
  sdk?: string
}

const pageSize = 200
/** Events that change nothing move the cursor too, now and then. */
const idleStride = 1000

export type Reading = {
  deps: MailViewDeps
  storage: MailStorage
  log: string
  cursor: MailCursor
  /** The position in the cursor's file. */
  written: number
  /** Sessions that could not be written; they are rebuilt at the next start. */
  broken: Set<SessionId>
  warn: (text: string) => void
  closing: AbortSignal
}

export const describeError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** Resumes at the cursor, after checking every place. */
export async function startReading(
  deps: MailViewDeps,
  storage: MailStorage,
  warn: Reading['warn'],
  closing: AbortSignal,
): Promise<Reading | null> {
  const name = await identifyLog(deps.store)
  if (name === null) return null
  // A place without uses of tools has another name, so it is rebuilt when tracing is switched on again.
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
    await runGuarded(reading, session, async () => {
      const found = seq < 0 ? null : await storage.check(session, log)
      if (found !== null && found >= seq && found <= deps.store.lastSeq()) cursor.sessions.set(session, found)
      else await rebuild(reading, session)
    })
    await deps.clock.sleep(0, closing)
  }
  return reading
}

/** A place that fails does not affect the others. */
async function runGuarded(reading: Reading, session: SessionId, work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    reading.closing.throwIfAborted()
    reading.broken.add(session)
    reading.cursor.sessions.set(session, -1)
    reading.warn(
      `mail.storage: the ${reading.deps.storage} view of ${session} could not be written ` +
        `and is rebuilt at the next start: ${describeError(error)}`,
    )
    return false
  }
}

export async function catchUp(reading: Reading): Promise<void> {
  const { cursor, deps, closing } = reading
  const tracing = deps.tracing && reading.storage.tools
  while (!closing.aborted && cursor.seq < deps.store.lastSeq()) {
    const { events, next } = await deps.store.read(cursor.seq, {}, pageSize)
    let changed = false
    for (const [session, touched] of collectTouched(events, tracing)) {
      if (closing.aborted) return
      if (!reading.broken.has(session) && isFileName(session))
        changed = (await updatePlace(reading, session, touched, next)) || changed
    }
    cursor.seq = next
    if (changed || next - reading.written >= idleStride) await keepCursor(reading)
    // Lets other work run between pages. The reader may also be a moment behind the writer.
    await deps.clock.sleep(events.length === 0 ? 1 : 0, closing)
  }
}

export async function keepCursor(reading: Reading): Promise<void> {
  if (reading.written === reading.cursor.seq && reading.cursor.sessions.size === 0) return
  await writeCursor(reading.deps.directory, reading.log, reading.deps.storage, reading.cursor)
  reading.written = reading.cursor.seq
}

/** True where something was written. */
async function updatePlace(
  reading: Reading,
  session: SessionId,
  { messages, tools }: Touched,
  seq: number,
): Promise<boolean> {
  const known = reading.cursor.sessions.get(session)
  // Only mail makes a place; and a place may be ahead of the cursor.
  if (known === undefined ? messages.size === 0 : seq <= known) return false
  let changed = false
  await runGuarded(reading, session, async () => {
    const texts = await renderMessages(reading, session, messages)
    if (texts.length === 0 && (known === undefined || tools.length === 0)) return
    changed = true
    const from = known ?? (await findPlace(reading, session))
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

/** A place that the cursor does not know, because of a crash or because it was lost. */
async function findPlace(
  { storage, log, cursor, deps }: Reading,
  session: SessionId,
): Promise<number | null> {
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
    const { messages, tools } = collectTouched(events, tracing).get(session) ?? {
      messages: new Set<MessageId>(),
      tools: [],
    }
    await storage.apply(session, log, {
      seq: -1,
      fresh,
      messages: await renderMessages(
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

/** Mail to this session. What a user says directly is a turn and no mail, until mail answers it. */
async function renderMessages(
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
