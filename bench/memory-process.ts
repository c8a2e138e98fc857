/** Measures the memory and disk use of 100,000 idle sessions. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { inlineSchemas } from '../src/adapters/schemas/schemas.ts'
import type { Event } from '../src/model/event.ts'
import { startNode } from '../src/runtime/node.ts'
import { limitsDefault } from '../src/model/limits.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import { systemIds } from '../src/runtime/kernel/system-ids.ts'
import { sqliteStore } from '../src/store/sqlite.ts'

const sessions = 100_000
const perTransaction = 100

const created = (n: number): Event => ({
  type: 'session.created',
  session: `ses_idle-${String(n).padStart(8, '0')}`,
  turn: null,
  agent: 'planner',
  kind: 'persistent',
  parent: null,
  cwd: '/tmp',
  title: `Session ${n}`,
  model: null,
  flow: null,
})

type Weight = { rssBytes: number; heapBytes: number; diskBytes: number }

export type MemoryResult = { sessions: number; before: Weight; after: Weight; reopenMs: number }

/** Runs in a process of its own, so that nothing else is measured. */
async function measure(): Promise<MemoryResult> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const directory = mkdtempSync(join(tmpdir(), 'tieline-bench-memory-'))
  const open = () => sqliteStore({ directory, now: () => systemClock.now() })
  const weigh = (): Weight => {
    collect()
    const files = ['tieline.db', 'tieline.db-wal'].map((name) => join(directory, name))
    return {
      rssBytes: process.memoryUsage().rss,
      heapBytes: process.memoryUsage().heapUsed,
      diskBytes: files.reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0),
    }
  }
  const store = open()
  const agents = {
    get: () => undefined,
    names: () => [],
    driver: () => {
      throw new Error('nothing runs here')
    },
  }
  const node = await startNode({
    store,
    lists: store.lists,
    clock: systemClock,
    ids: systemIds(() => systemClock.now()),
    agents,
    tools: { of: async () => [] },
    limits: limitsDefault,
    count: (text) => text.length,
    summarise: async () => null,
    describeWorkspace: async () => ({ text: '' }),
    schemas: inlineSchemas,
    subagent: null,
    asks: false,
    report: (fault) => console.error(fault),
  })
  const before = weigh()
  for (let first = 0; first < sessions; first += perTransaction) {
    const events = Array.from({ length: perTransaction }, (_, index) => created(first + index))
    await store.transact(
      events.map((event) => `session:${event.session}` as const),
      async (tx) => tx.append(...events),
    )
  }
  const after = weigh()
  await node.stop()
  await store.close()
  const from = performance.now()
  const again = open()
  const reopenMs = performance.now() - from
  await again.close()
  rmSync(directory, { recursive: true, force: true })
  return { sessions, before, after, reopenMs }
}

console.log(JSON.stringify(await measure()))
