/**
 * AgentFS in a thread of its own: its database works in long strides that would hold up everything else. One
 * order at a time, because calls on one database interleave.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import type { SessionId } from '../model/id.ts'
import { agentFsDatabase, type AgentFsDatabase, type OpenAgentFs } from './agentfs-database.ts'
import { restrict } from '../trust/private-files.ts'
import type { PlaceChange } from './mail-storage.ts'

export type AgentFsSettings = {
  directory: string
  cdc: boolean
  /** Where the package was found. */
  sdk: string
}
export type AgentFsOrder =
  | { kind: 'check'; session: SessionId; log: string }
  | { kind: 'apply'; session: SessionId; log: string; change: PlaceChange }
  | { kind: 'close' }
export type AgentFsAnswer = { n: number; value: number | null; error: string | null }

const openMax = 16
const { directory, cdc, sdk } = workerData as AgentFsSettings
const databases = new Map<SessionId, AgentFsDatabase>()

const open: OpenAgentFs = async (path) => {
  const { AgentFS } = (await import(pathToFileURL(sdk).href)) as typeof import('agentfs-sdk')
  const opened = await AgentFS.open({ path })
  closeDatabase(path)
  return opened
}

/** Only the owner may read what agents wrote to each other; the package itself follows the umask. */
const closeDatabase = (path: string): void =>
  ['', '-wal', '-shm', '-journal'].forEach((ending) => restrict(`${path}${ending}`))

/** The one that was not used for the longest time is closed when there are too many. */
async function getDatabase(session: SessionId): Promise<AgentFsDatabase> {
  const database = databases.get(session) ?? agentFsDatabase(join(directory, `${session}.db`), cdc, open)
  databases.delete(session)
  databases.set(session, database)
  const oldest = databases.size > openMax ? databases.entries().next().value : undefined
  if (oldest !== undefined) {
    databases.delete(oldest[0])
    await oldest[1].close()
  }
  return database
}

async function closeAll(): Promise<void> {
  for (const database of databases.values()) await database.close().catch(() => undefined)
  databases.clear()
}

async function execute(order: AgentFsOrder): Promise<number | null> {
  switch (order.kind) {
    case 'check':
      return (await getDatabase(order.session)).check(order.log)
    case 'apply':
      await (await getDatabase(order.session)).apply(order.log, order.change)
      closeDatabase(join(directory, `${order.session}.db`))
      return null
    case 'close':
      await closeAll()
      return null
  }
}

let last: Promise<void> = Promise.resolve()
parentPort?.on('message', ({ n, order }: { n: number; order: AgentFsOrder }) => {
  last = last.then(async () => {
    const answer = await execute(order).then(
      (value) => ({ n, value, error: null }),
      (error: unknown) => ({ n, value: null, error: error instanceof Error ? error.message : String(error) }),
    )
    parentPort?.postMessage(answer satisfies AgentFsAnswer)
  })
})
