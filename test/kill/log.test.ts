import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { StoredEvent } from '../../src/model/event.ts'
import { viewsEqual } from '../../src/store/rebuild.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'
import { fakeModel } from '../kits/fake-model.ts'

const worker = fileURLToPath(new URL('./kill-worker.ts', import.meta.url))
const roots = 250
const callsPerRoot = 4
const kills = 8

/** Runs the worker until it is killed after so many more model requests, or has finished. */
async function runWorker(
  directory: string,
  url: string,
  killWhen: () => boolean,
): Promise<{ lines: string[]; finished: boolean }> {
  const child = spawn(process.execPath, [worker, directory, url, String(roots)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const watch = setInterval(() => {
    if (killWhen()) child.kill('SIGKILL')
  }, 1)
  await new Promise<void>((resolve) => void child.on('close', () => resolve()))
  clearInterval(watch)
  const lines = text.split('\n').slice(0, -1)
  return { lines, finished: lines.at(-1) === 'finished' }
}

async function logOf(directory: string): Promise<StoredEvent[]> {
  const store = sqliteStore({ directory: join(directory, 'data'), now: Date.now })
  const events: StoredEvent[] = []
  for (let after = 0; ;) {
    const page = await store.read(after, {}, 10_000)
    events.push(...page.events)
    if (page.events.length === 0) break
    after = page.next
  }
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  await store.close()
  return events
}

/** The idempotency keys of model answers that the log has. */
function recordedAnswers(events: readonly StoredEvent[]): Set<string> {
  const counts = new Map<string, number>()
  const keys = new Set<string>()
  for (const { event } of events) {
    if (event.type !== 'step.ended' || event.kind !== 'model' || event.turn === null) continue
    const count = (counts.get(event.turn) ?? 0) + 1
    counts.set(event.turn, count)
    keys.add(`${event.turn}-${count}`)
  }
  return keys
}

test(
  'R2, R3, R10: kill -9 at any moment of 1,000 calls: each has one outcome, and nothing is lost or repeated',
  { timeout: 240_000 },
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tieline-kill-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const call = (n: number) => ({ name: 'sub_agent', input: { agent_name: 'worker', task: `part ${n}` } })
    const fake = await fakeModel([
      { when: { system: 'boss', results: callsPerRoot }, text: 'all parts done' },
      { when: { system: 'boss' }, tools: Array.from({ length: callsPerRoot }, (_, n) => call(n)) },
      { when: { system: 'worker', results: 1 }, text: 'part done' },
      { when: { system: 'worker' }, tools: [{ name: 'mark', input: {} }] },
    ])
    onTestFinished(() => fake.close())
    const acknowledged: string[] = []
    let recorded = new Set<string>()
    let repeatedRecorded = 0
    for (let round = 0, finished = false; !finished; round += 1) {
      const from = fake.requests.length
      // Not the same distance each time, so that kills fall on different moments of the work.
      const limit = from + 60 + ((round * 7919) % 331)
      const result = await runWorker(
        directory,
        fake.url,
        () => round < kills && fake.requests.length >= limit,
      )
      finished = result.finished
      acknowledged.push(
        ...result.lines.filter((line) => line.startsWith('acknowledged ')).map((line) => line.slice(13)),
      )
      repeatedRecorded += fake.requests
        .slice(from)
        .filter(({ headers }) => recorded.has(String(headers['idempotency-key']))).length
      recorded = recordedAnswers(await logOf(directory))
      expect(round).toBeLessThan(kills + 4)
    }
    const events = await logOf(directory)
    const of = (type: string) => events.filter(({ event }) => event.type === type)
    const opened = of('call.opened').map(({ event }) => (event as { call: string }).call)
    const ended = of('call.ended').map(({ event }) => (event as { call: string }).call)
    expect(opened.length).toBe(roots * callsPerRoot)
    expect(new Set(opened).size).toBe(opened.length)
    expect(ended.toSorted()).toEqual(opened.toSorted())
    const sent = new Set(of('message.sent').map(({ event }) => event.turn))
    expect(acknowledged.filter((turn) => !sent.has(turn as never))).toEqual([])
    expect(of('message.sent').length).toBe(roots)
    expect(of('turn.ended').length).toBe(roots * (callsPerRoot + 1))
    expect(repeatedRecorded).toBe(0)
    const marks = readFileSync(join(directory, 'marks'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
    expect(new Set(marks).size).toBe(marks.length)
    expect(of('session.claimed').length).toBeGreaterThan(0)
  },
)
