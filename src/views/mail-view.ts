/**
 * Mail as files that other programs can open. The log is the truth: the view reads it at its own pace, so that
 * nothing waits for the view and nothing is lost with it.
 */
import { existsSync } from 'node:fs'
import type { StoredEvent } from '../model/event.ts'
import { closeToOthers, mailNames } from '../trust/private-files.ts'
import { agentFsStorage, findAgentFs } from './agentfs-storage.ts'
import { mailFiles } from './mail-files.ts'
import { mailTypes, toolTypes } from './mail-fold.ts'
import {
  startReading,
  keepCursor,
  catchUp,
  describeError,
  type MailViewDeps,
  type Reading,
} from './mail-reader.ts'
import type { MailStorage } from './mail-storage.ts'

export type MailView = {
  /** Events as they are committed. Never throws, never waits. */
  events(events: readonly StoredEvent[]): void
  /** Resolves when everything that was in the log by then is in the view, or the view has given up. */
  settled(): Promise<void>
  close(): Promise<void>
}

const relevant: ReadonlySet<string> = new Set([...mailTypes, ...toolTypes])

/** Null where the log alone is wanted, or what is wanted is not installed. */
export async function mailView(deps: MailViewDeps): Promise<MailView | null> {
  const storage = openStorage(deps)
  return storage === null ? null : openView(deps, storage)
}

function openStorage({ storage, directory, cdc, warn, sdk }: MailViewDeps): MailStorage | null {
  if (storage === 'sqlite') return null
  if (existsSync(directory)) closeToOthers(directory, mailNames)
  if (storage === 'files') return mailFiles(directory)
  const found = findAgentFs(sdk)
  if (found !== null) return agentFsStorage({ directory, cdc, sdk: found })
  warn(
    'mail.storage: "agentfs" needs the package agentfs-sdk, which is not installed. ' +
      'Mail works and stays in the log; for the AgentFS databases run: npm install agentfs-sdk@0.6.4, ' +
      'or set mail.storage to "files" or "sqlite".',
  )
  return null
}

function openView(deps: MailViewDeps, storage: MailStorage): MailView {
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
      reading ??= await startReading(deps, storage, warn, closing.signal)
      if (reading !== null) await catchUp(reading)
    } catch (error) {
      if (closing.signal.aborted) return
      off = true
      warn(
        `mail.storage: the ${deps.storage} view has stopped and goes on at the next start; ` +
          `mail itself is not affected: ${describeError(error)}`,
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
        await keepCursor(reading).catch((error: unknown) => warn(`mail.storage: ${describeError(error)}`))
      await storage.close()
    },
  }
}
