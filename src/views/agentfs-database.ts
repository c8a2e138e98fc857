/**
 * One AgentFS database: the mail of one session as JSON files, its uses of tools in AgentFS's own log, and
 * what the view knows about itself, changed together.
 */
import { existsSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import type { AgentFS } from 'agentfs-sdk'
import {
  countMessage,
  digestText,
  emptyPlace,
  subtractDigest,
  PlaceState,
  addDigest,
  parseState,
  type PlaceChange,
  type ToolChange,
} from './mail-storage.ts'

export type OpenAgentFs = (path: string) => Promise<AgentFS>
export type AgentFsDatabase = {
  check(log: string): Promise<number | null>
  apply(log: string, change: PlaceChange): Promise<void>
  close(): Promise<void>
}

const folder = '/messages'
const stateKey = 'tieline'
const rowColumns = 'id, name, parameters, result, error, status, started_at, completed_at, duration_ms'

/** Another process has it open: it is not damaged, and not ours to remove. */
const isLocked = (error: unknown): boolean => error instanceof Error && /lock/i.test(error.message)

export function agentFsDatabase(path: string, cdc: boolean, open: OpenAgentFs): AgentFsDatabase {
  let handle: AgentFS | null = null
  const opened = async (): Promise<AgentFS> => (handle ??= await openDatabase(path, cdc, open))
  const close = async (): Promise<void> => {
    const closing = handle
    handle = null
    if (closing === null) return
    // Otherwise what was written stays beside the file, where a copy of it would miss it.
    await closing
      .getDatabase()
      .exec('PRAGMA wal_checkpoint(TRUNCATE)')
      .catch(() => undefined)
    await closing.close()
  }
  return {
    close,
    async check(log) {
      if (!existsSync(path)) return null
      try {
        return await checkDatabase(await opened(), log)
      } catch {
        await close().catch(() => undefined)
        return null
      }
    },
    async apply(log, change) {
      if (change.fresh) await remove(path, opened, close)
      const fs = await opened()
      const db = fs.getDatabase()
      await db.exec('BEGIN')
      try {
        await applyChange(fs, log, change)
        await db.exec('COMMIT')
      } catch (error) {
        await db.exec('ROLLBACK').catch(() => undefined)
        throw error
      }
    },
  }
}

/** Opened first, so that one that another process has is left alone. */
async function remove(
  path: string,
  opened: () => Promise<AgentFS>,
  close: () => Promise<void>,
): Promise<void> {
  if (existsSync(path)) {
    await opened().catch((error: unknown) => {
      if (isLocked(error)) throw error
    })
    await close().catch(() => undefined)
  }
  for (const ending of ['', '-wal', '-shm', '-journal'])
    await rm(`${path}${ending}`, { recursive: true, force: true })
}

async function openDatabase(path: string, cdc: boolean, open: OpenAgentFs): Promise<AgentFS> {
  const fs = await open(path)
  try {
    // Only the owner may read what agents wrote to each other.
    await chmod(path, 0o600)
    if (!cdc) return fs
    // Older versions of the database know it by its first name only.
    await fs
      .getDatabase()
      .exec(`PRAGMA capture_data_changes_conn('full')`)
      .catch(() => fs.getDatabase().exec(`PRAGMA unstable_capture_data_changes_conn('full')`))
    return fs
  } catch (error) {
    await fs.close().catch(() => undefined)
    throw error
  }
}

async function checkDatabase(fs: AgentFS, log: string): Promise<number | null> {
  const db = fs.getDatabase()
  const state = parseState(await fs.kv.get(stateKey), log)
  if (state === null) return null
  const whole = (await (await db.prepare('PRAGMA integrity_check')).all()) as { integrity_check: string }[]
  if (whole.length !== 1 || whole[0]?.integrity_check !== 'ok') return null
  let [count, sum] = [0, 0]
  for (const name of await fs.fs.readdir(folder).catch(() => [] as string[])) {
    count += 1
    sum = addDigest(sum, digestText(name, await fs.fs.readFile(`${folder}/${name}`, 'utf8')))
  }
  let [tools, toolSum] = [0, 0]
  for (const row of (await (await db.prepare(`select ${rowColumns} from tool_calls`)).all()) as ToolRow[]) {
    tools += 1
    toolSum = addDigest(toolSum, digestRow(row))
  }
  return count === state.count && sum === state.sum && tools === state.tools && toolSum === state.toolSum
    ? state.seq
    : null
}

async function applyChange(fs: AgentFS, log: string, { seq, messages, tools }: PlaceChange): Promise<void> {
  const parsed = PlaceState.safeParse(await fs.kv.get(stateKey))
  const state = parsed.success ? parsed.data : emptyPlace(log)
  for (const { id, text } of messages) {
    const name = `${id}.json`
    const before = await fs.fs.readFile(`${folder}/${name}`, 'utf8').catch(() => null)
    if (before === text) continue
    await fs.fs.writeFile(`${folder}/${name}`, text)
    countMessage(state, name, before, text)
  }
  for (const change of tools) await applyTool(fs, state, change)
  await fs.kv.set(stateKey, { ...state, log, seq })
}

type ToolRow = {
  id: number
  name: string
  parameters: string | null
  result: string | null
  error: string | null
  status: string
  started_at: number
  completed_at: number | null
  duration_ms: number | null
}

/** Without the id, in the order of `rowColumns`. */
const listValues = (row: ToolRow) =>
  rowColumns
    .split(', ')
    .slice(1)
    .map((column) => row[column as keyof ToolRow])

const digestRow = (row: ToolRow): number => digestText(String(row.id), JSON.stringify(listValues(row)))

/** AgentFS counts whole seconds. Times are those of the log, so that a rebuilt row is the same. */
const seconds = (at: number): number => Math.floor(at / 1000)

async function applyTool(
  fs: AgentFS,
  state: PlaceState,
  { key, name, parameters, startedAt, ended }: ToolChange,
): Promise<void> {
  const db = fs.getDatabase()
  const pendingKey = `pending:${key}`
  const pending = (await fs.kv.get(pendingKey)) as number | undefined
  const before =
    pending === undefined
      ? undefined
      : ((await (await db.prepare(`select ${rowColumns} from tool_calls where id = ?`)).get(pending)) as
          | ToolRow
          | undefined)
  // Announced again after a crash: it has its row.
  if (ended === null && before !== undefined) return
  const end =
    ended === null
      ? { result: null, error: null, status: 'pending', completed_at: null, duration_ms: null }
      : {
          result: ended.ok ? ended.text : null,
          error: ended.ok ? null : ended.text,
          status: ended.ok ? 'success' : 'error',
          completed_at: seconds(ended.at),
          duration_ms: Math.max(0, Math.round(ended.at - startedAt)),
        }
  const row: ToolRow =
    before === undefined
      ? { id: state.tools + 1, name, parameters, started_at: seconds(startedAt), ...end }
      : { ...before, ...end }
  if (before === undefined) {
    const insert = await db.prepare(
      `insert into tool_calls (${rowColumns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    await insert.run(row.id, ...listValues(row))
    state.tools += 1
  } else {
    const update = await db.prepare(
      'update tool_calls set result = ?, error = ?, status = ?, completed_at = ?, duration_ms = ? where id = ?',
    )
    await update.run(row.result, row.error, row.status, row.completed_at, row.duration_ms, row.id)
    state.toolSum = subtractDigest(state.toolSum, digestRow(before))
  }
  state.toolSum = addDigest(state.toolSum, digestRow(row))
  if (ended === null) await fs.kv.set(pendingKey, row.id)
  else if (pending !== undefined) await fs.kv.delete(pendingKey)
}
