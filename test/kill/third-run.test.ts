/**
 * A request that ends the process of the server must not end every process after it. Over a real store in a
 * directory, with processes that are really killed.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { explainStall } from '../../src/runtime/look/explain.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'

const program = fileURLToPath(new URL('./third-run-worker.ts', import.meta.url))

/** Runs the worker, kills it when it says that its turn runs, and returns what it said. */
async function life(directory: string, end: 'SIGKILL' | 'SIGTERM', ...args: string[]): Promise<string[]> {
  const child = spawn(process.execPath, [program, join(directory, 'data'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    if (text.includes('running\n')) child.kill(end)
  })
  await new Promise<void>((resolve) => void child.on('close', () => resolve()))
  return text.split('\n').filter((line) => line !== '')
}

function directoryOf(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-third-run-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  mkdirSync(join(directory, 'data'))
  return directory
}

test(
  'R11: a turn that ends the process each time is not started a third time, and the next one runs',
  { timeout: 60_000 },
  async () => {
    const directory = directoryOf()
    expect(await life(directory, 'SIGKILL', 'poison')).toEqual(['running'])
    expect(await life(directory, 'SIGKILL')).toEqual(['running'])
    const third = await life(directory, 'SIGKILL', 'harmless')
    expect(third[0]).toMatch(/^ended failed crashed_twice: .*not started a third time/)
    expect(third.at(-1)).toBe('answered fine')
    const store = sqliteStore({ directory: join(directory, 'data'), now: Date.now })
    onTestFinished(() => store.close())
    const { events } = await store.read(0, { types: ['turn.ended'] }, 10)
    const session = events[0]?.event.session as `ses_${string}`
    expect(
      (await explainStall({ store, now: Date.now(), lists: store.lists, isRun: null }, session))?.text,
    ).toMatch(/failed.*crashed_twice/)
    const entries = await store.entries(session, { filter: {}, now: Date.now(), tokensMax: 1000 })
    expect(entries.entries.map(({ text }) => text)).toEqual([
      'poison',
      expect.stringContaining('crashed_twice') as string,
      'harmless',
      'fine',
    ])
  },
)

test(
  'R11: a server that is stopped in good order, however often, does not count against the turn',
  { timeout: 60_000 },
  async () => {
    const directory = directoryOf()
    expect(await life(directory, 'SIGTERM', 'poison')).toEqual(['running'])
    for (let n = 0; n < 2; n += 1) expect(await life(directory, 'SIGTERM')).toEqual(['running'])
  },
)
