/**
 * Mail in AgentFS databases, one per session that receives mail. The package is large and not everybody's: it
 * is looked for when it is configured.
 */
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { contained } from '../model/contained.ts'
import { ownFile } from '../own-files.ts'
import type { AgentFsAnswer, AgentFsOrder, AgentFsSettings } from './agentfs-worker.ts'
import type { MailStorage } from './mail-storage.ts'

const workerFile = ownFile('views/agentfs-worker')
const sdkName = 'agentfs-sdk'

/** Null where the package is not installed. */
export function findAgentFs(name = sdkName): string | null {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}

type Waiting = { resolve: (value: number | null) => void; reject: (error: Error) => void }

export function agentFsStorage(settings: AgentFsSettings): MailStorage {
  const waiting = new Map<number, Waiting>()
  let worker: Worker | null = null
  let gone: Error | null = null
  let serial = 0
  const start = (): Worker => {
    const made = new Worker(workerFile, { workerData: settings, env: {}, execArgv: [] })
    made.unref()
    const end = (fault: unknown): void => {
      const error = fault instanceof Error ? fault : new Error(String(fault))
      gone ??= error
      for (const { reject } of waiting.values()) reject(error)
      waiting.clear()
    }
    made.on(
      'message',
      contained(end, ({ n, value, error }: AgentFsAnswer) => {
        const waits = waiting.get(n)
        waiting.delete(n)
        // A thread with nothing to do does not keep a program alive that is done.
        if (waiting.size === 0) made.unref()
        if (error === null) waits?.resolve(value)
        else waits?.reject(new Error(error))
      }),
    )
    made.on('error', end)
    made.on(
      'exit',
      contained(end, () => end(new Error('the thread of AgentFS has ended'))),
    )
    return made
  }
  const order = async (what: AgentFsOrder): Promise<number | null> => {
    if (gone !== null) throw gone
    const to = (worker ??= start())
    serial += 1
    const n = serial
    return new Promise((resolve, reject) => {
      waiting.set(n, { resolve, reject })
      to.ref()
      to.postMessage({ n, order: what })
    })
  }
  return {
    tools: true,
    check: (session, log) => order({ kind: 'check', session, log }),
    async apply(session, log, change) {
      await mkdir(settings.directory, { recursive: true, mode: 0o700 })
      await order({ kind: 'apply', session, log, change })
    },
    async close() {
      if (worker === null) return
      await order({ kind: 'close' }).catch(() => undefined)
      await worker.terminate()
    },
  }
}
