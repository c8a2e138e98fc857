/** A view of mail in a directory of its own, and its files as others read them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentFS, type ToolCall } from 'agentfs-sdk'
import { onTestFinished } from 'vitest'
import type { SessionId } from '../../src/model/id.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import type { MailViewDeps } from '../../src/views/mail-reader.ts'
import { mailView, type MailView } from '../../src/views/mail-view.ts'
import { mailWorld, user, type MailWorld } from './mail.ts'
import type { MessageRecord } from '../../src/wire/mail.ts'

export type Messages = Record<string, MessageRecord>
export type Seen = { messages: Messages; tools: ToolCall[]; captured: boolean }
export const storages = ['agentfs', 'files'] as const
export type Storage = (typeof storages)[number]

export type MailDesk = {
  w: MailWorld
  directory: string
  warnings: string[]
  deps: (more?: Partial<MailViewDeps>) => MailViewDeps
  view: (more?: Partial<MailViewDeps>) => Promise<MailView>
  /** Brings the view up to date, and closes it, so that its files can be opened. */
  once: (more?: Partial<MailViewDeps>) => Promise<void>
  read: (storage: Storage, session: SessionId) => Promise<Messages>
  inDatabase: (session: SessionId) => Promise<Seen>
  /** Everything that a place has. */
  all: (storage: Storage, session: SessionId) => Promise<Seen>
  /** What the exchange says. */
  records: (...ids: string[]) => Promise<Messages>
}

export function mailDesk(w: MailWorld): MailDesk {
  const above = mkdtempSync(join(tmpdir(), 'tieline-mail-view-'))
  const directory = join(above, 'mail')
  const warnings: string[] = []
  const open = new Set<() => Promise<void>>()
  onTestFinished(async () => {
    for (const close of open) await close()
    rmSync(above, { recursive: true, force: true })
  })
  const deps: MailDesk['deps'] = (more = {}) => ({
    storage: 'agentfs',
    directory,
    cdc: true,
    tracing: true,
    store: w.store,
    mail: w.desks.as({}).mail,
    clock: systemClock,
    warn: (text) => warnings.push(text),
    ...more,
  })
  const view: MailDesk['view'] = async (more) => {
    const made = await mailView(deps(more))
    if (made === null) throw new Error('there is no view')
    const unsubscribe = w.exchange.subscribe(
      w.exchange.lastSeq(),
      { sessions: null },
      { events: (events) => made.events(events), delta: () => undefined },
    )
    const close = async (): Promise<void> => {
      unsubscribe()
      open.delete(close)
      await made.close()
    }
    open.add(close)
    return { events: (events) => made.events(events), settled: () => made.settled(), close }
  }
  return {
    w,
    directory,
    warnings,
    deps,
    view,
    async once(more) {
      const made = await view(more)
      await made.settled()
      await made.close()
    },
    read: async (storage, session) =>
      storage === 'files'
        ? inFolder(join(directory, session))
        : (await inDatabase(join(directory, `${session}.db`))).messages,
    all: async (storage, session) =>
      storage === 'files'
        ? { messages: inFolder(join(directory, session)), tools: [], captured: false }
        : inDatabase(join(directory, `${session}.db`)),
    inDatabase: (session) => inDatabase(join(directory, `${session}.db`)),
    records: async (...ids) =>
      Object.fromEntries(
        await Promise.all(
          ids.map(async (id) => {
            const record = await w.ok(w.exchange.mail.message(user, id))
            return [`${record.id}.json`, record] as const
          }),
        ),
      ),
  }
}

export async function inDatabase(path: string): Promise<Seen> {
  const fs = await AgentFS.open({ path })
  try {
    const messages: Messages = {}
    for (const name of await fs.fs.readdir('/messages'))
      messages[name] = JSON.parse(await fs.fs.readFile(`/messages/${name}`, 'utf8')) as MessageRecord
    const tables = (await (
      await fs.getDatabase().prepare(`select name from sqlite_master where name = 'turso_cdc'`)
    ).all()) as unknown[]
    return {
      messages,
      tools: (await fs.tools.getRecent(0)).toSorted((a, b) => a.id - b.id),
      captured: tables.length > 0,
    }
  } finally {
    await fs.close()
  }
}

const inFolder = (folder: string): Messages =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .map((name) => [name, JSON.parse(readFileSync(join(folder, name), 'utf8')) as MessageRecord]),
  )

/** A letter that was accepted and answered, one that waits, and one that was declined. */
export async function correspondence(): Promise<MailDesk & { a: SessionId; b: SessionId }> {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  for (const id of ['one', 'two', 'three'])
    await w.use(a, 'send-message', { session: b, message: `letter ${id}`, id })
  await w.use(b, 'buffer', { accept: 'one' })
  await w.use(b, 'send-message', { message: 'an answer', reply: ['one'], id: 'back' })
  await w.ok(w.exchange.mail.decline(user, 'three'))
  await w.rested(a)
  return { ...mailDesk(w), a, b }
}
