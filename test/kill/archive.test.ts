/** kill -9 while what is old leaves the log: every event is there once, in the log or in a segment. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { logCare } from '../../src/log-care.ts'
import type { SessionId } from '../../src/model/id.ts'
import { openLine } from '../../src/open-line.ts'
import { listRows } from '../../src/store/log-row.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'
import { patience } from '../kits/cli.ts'

vi.setConfig(patience)

const worker = fileURLToPath(new URL('./archive-kill-worker.ts', import.meta.url))
const flows = 60
const movedPerLife = 6

async function record(directory: string): Promise<void> {
  const line = await openLine({
    dataDir: directory,
    agents: { helper: { script: ({ task }: { task: string }) => `did ${task}` } },
  })
  for (let n = 0; n < flows; n += 1) {
    const session = (await line.run('helper', `task ${n}`)).session as SessionId
    await line.store.transact([`session:${session}`], async (tx) =>
      tx.append({ type: 'session.archived', session, turn: null, cause: 'idle' }),
    )
  }
  await line.close()
}

async function readRows(directory: string): Promise<unknown[]> {
  const store = sqliteStore({ directory, now: Date.now })
  const rows = [...listRows(store.db)].map(({ seq, at, events }) => [seq, at, events])
  await store.close()
  return rows
}

/** Lives until it has moved a few flows and a little longer; each time it dies at another moment. */
async function runLife(directory: string, extraMs: number): Promise<{ moved: number; finished: boolean }> {
  const child = spawn(process.execPath, ['--no-warnings', worker, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  let timer: NodeJS.Timeout | null = null
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    if (text.split('\n').length > movedPerLife) timer ??= setTimeout(() => child.kill('SIGKILL'), extraMs)
  })
  await new Promise<void>((resolve) => void child.on('close', () => resolve()))
  const lines = text.split('\n').slice(0, -1)
  return { moved: lines.length, finished: lines.at(-1) === 'finished' }
}

test('a process that is killed while it archives loses nothing and doubles nothing, and the next goes on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-archive-kill-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  await record(directory)
  const rows = await readRows(directory)
  let [kills, isDone] = [0, false]
  for (let life = 0; life < flows && !isDone; life += 1) {
    isDone = (await runLife(directory, (life * 7) % 23)).finished
    if (!isDone) kills += 1
    expect(await readRows(directory)).toEqual(rows)
    expect(await logCare.check(join(directory, 'tieline.db'))).toMatchObject({ ok: true })
  }
  expect(isDone).toBe(true)
  expect(kills).toBeGreaterThan(2)
  const nothing = await logCare.previewArchive({ directory, now: 1, endedBefore: Date.now() })
  expect(nothing).toMatchObject({ flows: 0 })
})
