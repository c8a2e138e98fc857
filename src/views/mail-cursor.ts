/** How far a view of mail has read the log: one small file per log, since logs may share a directory. */
import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { SessionId } from '../model/id.ts'
import type { Store } from '../runtime/kernel/store-port.ts'
import { readJson, writeWhole } from './mail-files.ts'
import { isFileName } from './mail-storage.ts'

/** `sessions` says how far each place must have read at least; -1 means that it must be rebuilt. */
const MailCursor = z.strictObject({
  storage: z.string(),
  seq: z.number().int().min(0),
  sessions: z.record(z.string().startsWith('ses_').refine(isFileName), z.number().int()),
})

export type MailCursor = { seq: number; sessions: Map<SessionId, number> }

const getCursorFile = (directory: string, log: string): string => join(directory, `.cursor-${log}.json`)

/** A hash of the first event. Null while the log is empty. */
export async function identifyLog(store: Pick<Store, 'read'>): Promise<string | null> {
  const [first] = (await store.read(0, {}, 1)).events
  return first === undefined
    ? null
    : createHash('sha256')
        .update(JSON.stringify([first.seq, first.at, first.event.type, first.event.session]))
        .digest('hex')
        .slice(0, 16)
}

/** Null where there is none, or none that fits: then everything is read again. */
export async function readCursor(
  directory: string,
  log: string,
  storage: string,
  lastSeq: number,
): Promise<MailCursor | null> {
  const parsed = MailCursor.safeParse(await readJson(getCursorFile(directory, log)))
  if (!parsed.success || parsed.data.storage !== storage || parsed.data.seq > lastSeq) return null
  return {
    seq: parsed.data.seq,
    sessions: new Map(Object.entries(parsed.data.sessions) as [SessionId, number][]),
  }
}

export async function writeCursor(
  directory: string,
  log: string,
  storage: string,
  { seq, sessions }: MailCursor,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeWhole(
    getCursorFile(directory, log),
    `${JSON.stringify({ storage, seq, sessions: Object.fromEntries(sessions) })}\n`,
  )
}
