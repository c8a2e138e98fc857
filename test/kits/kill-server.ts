/** A server in a process of its own that a test may kill, and the log that it leaves. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { StoredEvent } from '../../src/model/event.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'

export const program = fileURLToPath(new URL('../kill/http-kill-server.ts', import.meta.url))

const rounds = Number(process.env['ANSWER_KILL_ROUNDS'] ?? 12)

/** Five uses of doors, and a program: each has a sixth of the rounds. */
export const roundsEach = Math.ceil(rounds / 6)

export const waitMsMax = 30_000

export type Server = { child: ChildProcess; url: string }

export type Fields = Record<string, unknown>

export async function startServer(directory: string): Promise<Server> {
  const child = spawn(process.execPath, [program, join(directory, 'data'), directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  for await (const chunk of child.stdout) {
    text += String(chunk)
    if (text.includes('\n')) break
  }
  return { child, url: text.trim() }
}

export const gone = async ({ child }: Server): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

export async function logOf(directory: string): Promise<StoredEvent[]> {
  const store = sqliteStore({ directory: join(directory, 'data'), now: Date.now })
  const events: StoredEvent[] = []
  for (let after = 0; ;) {
    const page = await store.read(after, {}, 10_000)
    events.push(...page.events)
    if (page.events.length === 0) break
    after = page.next
  }
  await store.close()
  return events
}

export function directoryOf(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-answer-kill-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  mkdirSync(join(directory, 'data'))
  return directory
}
