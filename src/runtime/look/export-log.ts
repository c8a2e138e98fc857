/**
 * A recorded run as a file: a header, then one line of JSON for each event.
 *
 * What is exported of a flow, a session or a call is complete: its turns and everything below them, and the
 * earlier turns of the conversations that they were shown.
 * Secrets are taken out. The hash in the header is that of all lines after it.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ownLimits, parseJson } from '../../model/bounded-json.ts'
import { Event, type StoredEvent } from '../../model/event.ts'
import { toTurnId, type SessionId, type TurnId } from '../../model/id.ts'
import { canonical, type Json } from '../../model/json.ts'
import { opensTurn } from '../../model/opening.ts'
import type { Store } from '../kernel/store-port.ts'
import { createRedactor } from '../kernel/redact.ts'
import { readAll, findScope, type LogReader, type Scope, type ScopeReader } from '../kernel/scope.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import { describeSetup, ReplaySetup, type SetupParts } from './replay-setup.ts'

/** 2 has `setup`. */
export const exportFormat = 2

export const ExportHeader = z.strictObject({
  tieline: z.literal('log'),
  format: z.number().int(),
  /** Of the Tieline that wrote it. */
  version: z.string(),
  /** The call, session or flow that was asked for; null is the whole log. */
  of: z.string().nullable(),
  events: z.number().int(),
  turns: z.number().int(),
  /** Earlier turns of the conversations that those were shown. */
  contextTurns: z.number().int(),
  /** How many secrets were taken out. */
  redacted: z.number().int(),
  hash: z.string(),
  /** Not in format 1. */
  setup: ReplaySetup.optional(),
})
export type ExportHeader = z.infer<typeof ExportHeader>

/** Events with the same `tx` were decided together. */
const ExportLine = z.strictObject({ tx: z.number().int(), at: z.number(), event: Event })

/** `units` is how much there is to look at, in UTF-16 units of JSON. */
export type Transaction = { at: number; events: readonly StoredEvent[]; units: number }

export type ExportRequest = {
  id: string | null
  version: string
  env: Readonly<Record<string, string | undefined>>
  setup: SetupParts
  /** R11: nothing is read any more once it is longer. */
  bytesMax?: number
  /** For a server, which has others to answer meanwhile. */
  pause?: () => Promise<void>
}

/** Its lines may come to hundreds of megabytes: a server gives them out one by one. */
export type ExportFile = { header: ExportHeader; lines: readonly string[] }

export const exportText = ({ header, lines }: ExportFile): string =>
  `${[JSON.stringify(header), ...lines].join('\n')}\n`

export async function exportLog(
  store: ScopeReader,
  transactions: Iterable<Transaction>,
  request: ExportRequest,
): Promise<ExportFile | Refusal> {
  const { bytesMax = Infinity } = request
  const scope = request.id === null ? null : await findScope(store, request.id)
  const context = scope === null ? { turns: [], sessions: [] } : await collectContext(store, scope)
  const wanted = scope === null ? () => true : isWanted(scope, context)
  const redactor = createRedactor(request.env)
  const lines: string[] = []
  const ran = new Set<string>()
  let [kept, opened, bytes] = [0, 0, 0]
  for (const { at, events: all, units } of transactions) {
    const events = all.map((stored) => stored.event).filter(wanted)
    if (events.length > 0) kept += 1
    for (const event of events) {
      if ('grant' in event) ran.add(event.grant.agent)
      if (event.type === 'call.opened' || opensTurn(event)) opened += 1
      await request.pause?.()
      const redacted =
        units < unitsAtOnceMax
          ? redactor.redact(event)
          : await redactGently(redactor.redactGently(event), request.pause)
      const line = JSON.stringify({ tx: kept, at, event: redacted })
      bytes += Buffer.byteLength(line) + 1
      if (bytes > bytesMax) return { code: 'too_large', field: 'the export up to here', bytes, bytesMax }
      lines.push(line)
    }
    await request.pause?.()
  }
  const setup = redactor.mask(describeSetup(request.setup, ran))
  const hash = lineHash(canonicalSetup(setup))
  for (const line of lines) {
    hash.add(line)
    await request.pause?.()
  }
  const header: ExportHeader = {
    tieline: 'log',
    format: exportFormat,
    version: request.version,
    of: scope?.id ?? null,
    events: lines.length,
    turns: scope?.turns.length ?? opened,
    contextTurns: context.turns.length,
    redacted: redactor.count(),
    hash: hash.hex(),
    setup,
  }
  return { header, lines }
}

/** Hostile texts take a tenth of a microsecond for each unit. */
const unitsAtOnceMax = 64 * 1024

async function redactGently(
  work: Generator<undefined, Event>,
  pause: ExportRequest['pause'],
): Promise<Event> {
  for (;;) {
    const step = work.next()
    await pause?.()
    if (step.done === true) return step.value
  }
}

/** Whatever the order of its fields is in the file. */
const canonicalSetup = (setup: ReplaySetup): string => canonical(JSON.parse(JSON.stringify(setup)) as Json)

/** The hash of all lines, added one by one; the first is the setup, which format 1 does not have. */
function lineHash(setup: string | null): { add(line: string): void; hex(): string } {
  const hash = createHash('sha256')
  let between = ''
  const add = (line: string): void => {
    hash.update(between).update(line)
    between = '\n'
  }
  if (setup !== null) add(setup)
  return { add, hex: () => hash.digest('hex') }
}

type Context = { turns: TurnId[]; sessions: SessionId[] }

/**
 * A conversation is passed on by the numbers of its entries, so the turns that made them belong to the
 * export.
 */
async function collectContext(store: LogReader, scope: Scope): Promise<Context> {
  const own = new Set<TurnId>(scope.turns.map((turn) => turn.id))
  const sessions = new Set<SessionId>()
  for (const turn of scope.turns) {
    const opened = (await store.event(turn.openedSeq))?.event
    if (opened?.type === 'call.opened' && opened.context.messages !== null)
      sessions.add(opened.context.messages.session as SessionId)
    if ((await store.session(turn.session))?.kind === 'persistent') sessions.add(turn.session)
  }
  // A fork goes on from what was said elsewhere.
  for (const session of sessions)
    for (const { event } of await readAll(store, 0, { sessions: [session], types: ['session.forked'] }))
      if (event.type === 'session.forked') sessions.add(event.from)
  const last = scope.turns.reduce((latest, turn) => Math.max(latest, turn.openedSeq), 0)
  const started =
    sessions.size === 0 ? [] : await readAll(store, 0, { sessions: [...sessions], types: ['turn.started'] })
  return {
    turns: [
      ...new Set(
        started.flatMap(({ seq, event }) =>
          seq < last && event.turn !== null && !own.has(event.turn) ? [event.turn] : [],
        ),
      ),
    ],
    sessions: [...sessions],
  }
}

function isWanted(scope: Scope, context: Context): (event: Event) => boolean {
  const turns = new Set<string>([...scope.turns.map((turn) => turn.id), ...context.turns])
  const sessions = new Set<string>([...scope.turns.map((turn) => turn.session), ...context.sessions])
  return (event) => {
    if (
      (event.turn !== null && turns.has(event.turn)) ||
      ('call' in event && turns.has(toTurnId(event.call)))
    )
      return true
    return (
      (event.type === 'session.created' ||
        event.type === 'session.forked' ||
        event.type === 'session.archived') &&
      sessions.has(event.session)
    )
  }
}

/** The file cannot be taken; nothing was written. */
export class ImportFault extends Error {
  override readonly name = 'ImportFault'
}

/** `at` sets the time that the store's next transaction has. */
export type ImportTarget = Pick<Store, 'transact' | 'lastSeq'> & { at(moment: number): void }

export type ReadExport = { header: ExportHeader; transactions: { at: number; events: Event[] }[] }

/** Checks the whole file; throws an ImportFault. */
export function readExport(text: string): ReadExport {
  const [first = '', ...lines] = text.replace(/\n$/, '').split('\n')
  const header = buildHeader(first)
  if (lines.length !== header.events)
    throw new ImportFault(
      `the file is damaged: it should have ${header.events} events and has ${lines.length}. Export it again.`,
    )
  const hash = lineHash(header.setup === undefined ? null : canonicalSetup(header.setup))
  for (const line of lines) hash.add(line)
  if (hash.hex() !== header.hash)
    throw new ImportFault(
      'the file is damaged, or was changed after it was exported: its hash is not that of its events. Export it again.',
    )
  const together = Map.groupBy(
    lines.map((line, index) => parseLine(line, index + 2)),
    ({ tx }) => tx,
  )
  return {
    header,
    transactions: [...together.values()].map((group) => ({
      at: group[0]?.at ?? 0,
      events: group.map(({ event }) => event),
    })),
  }
}

/** Writes what was read to a log that is empty. */
export async function importLog({ transactions }: ReadExport, target: ImportTarget): Promise<void> {
  if (target.lastSeq() !== 0)
    throw new ImportFault('the log that it should go to is not empty. Name a data directory that is new.')
  for (const { at, events } of transactions) {
    target.at(at)
    await target.transact(
      [...new Set(events.map((event) => `session:${event.session}` as const))],
      async (tx) => tx.append(...events),
    )
  }
}

function buildHeader(line: string): ExportHeader {
  const raw = parseJsonLine(line)
  if (typeof raw !== 'object' || raw === null || (raw as { tieline?: unknown }).tieline !== 'log')
    throw new ImportFault('this is no export of a Tieline log: the first line is not its header.')
  const { format, version } = raw as { format?: unknown; version?: unknown }
  if (typeof format === 'number' && format > exportFormat)
    throw new ImportFault(
      `the file was written by a newer Tieline (${String(version)}; its format is ${format}, this one ` +
        `knows ${exportFormat}). Update Tieline.`,
    )
  const header = ExportHeader.safeParse(raw)
  if (!header.success)
    throw new ImportFault(
      'the file is damaged: its header is not complete ' +
        `(${header.error.issues[0]?.path.join('.') ?? ''}). Export it again.`,
    )
  return header.data
}

/**
 * The line as it was written: the order of fields inside of an input is part of the key that it is found by.
 */
function parseLine(line: string, number: number): z.infer<typeof ExportLine> {
  const raw = parseJsonLine(line)
  const parsed = ExportLine.safeParse(raw)
  if (!parsed.success)
    throw new ImportFault(
      `line ${number} is not an event that this Tieline knows ` +
        `(${parsed.error.issues[0]?.path.join('.') ?? ''}: ${parsed.error.issues[0]?.message ?? ''}).`,
    )
  return raw as z.infer<typeof ExportLine>
}

function parseJsonLine(line: string): unknown {
  const parsed = parseJson(line, 'line', ownLimits)
  // Not JSON is told like any other line that is wrong.
  return isRefusal(parsed) ? undefined : parsed.value
}
