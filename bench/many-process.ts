/** Many turns at once, in a process of its own: `deadlines N`, `flight N` or `fair N`. Prints JSON. */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Event } from '../src/model/event.ts'
import { type ScriptedTurn, type Tieline } from '../src/index.ts'
import { openLine, type OpenLine, type OpenLineOptions } from '../src/open-line.ts'
import { listRows } from '../src/store/log-row.ts'
import { openRawLog } from './lanes.ts'
import { watchLateness } from './lateness.ts'
import { quantile } from './round.ts'
import { createScratch } from './work.ts'

export type DeadlinesResult = {
  count: number
  /** How far their deadlines are apart. */
  spreadMs: number
  /** From the deadline to the recorded end, and to the moment that the caller had it. */
  recordedP99Ms: number
  toldP99Ms: number
  allToldMs: number
  /** SQLite alone, writing rows with as many bytes as the ends have. */
  bareMs: number
  failed: number
}
export type FlightResult = {
  count: number
  /** Each turn has a deadline of its own; when its end was told, beyond it. */
  lateP50Ms: number
  lateP99Ms: number
  lateMaxMs: number
  timers: number
  heapBytesEach: number
  rssBytesEach: number
  /** The longest that the event loop was held while they started, while they waited, and while they ended. */
  stallMs: { starting: number; waiting: number; ending: number }
  startMs: number
}
export type FairResult = {
  count: number
  failed: number
  aloneMs: number
  besideP50Ms: number
  besideMaxMs: number
}

const limits = {
  callsPerCallerMax: 10_000,
  descendantsPerFlowMax: 100_000,
  callsPerMinute: 1_000_000,
  queuedPerSessionMax: 10_000,
}

/** A model that never answers: it ends when its request is aborted. */
const slowModel: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'bench',
  modelId: 'slow',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('it is only streamed')),
  doStream: ({ abortSignal }) =>
    new Promise((_resolve, reject) => {
      abortSignal?.addEventListener('abort', () => reject(abortSignal.reason as Error), { once: true })
    }),
}

const scratch = createScratch()
const open = (options: OpenLineOptions): Promise<OpenLine> =>
  openLine({ dataDir: scratch.data, cwd: scratch.workspace, limits, ...options })

const openedAtOnce = 8

const slow = { prompt: 'You are slow.', description: 'Is slow.', languageModel: slowModel }

async function measureDeadlines(count: number): Promise<DeadlinesResult> {
  let deadline = 0
  const told: number[] = []
  const line = await open({
    agents: {
      slow,
      caller: {
        allowSubAgentCalls: true,
        tools: ['sub_agent'],
        script: async (turn: ScriptedTurn) => {
          const timeout_seconds = (deadline - Date.now()) / 1000
          const { value } = await turn.tool('sub_agent', {
            agent_name: 'slow',
            task: 'wait',
            timeout_seconds,
          })
          told.push(Date.now() - deadline)
          return (value as { outcome?: string }).outcome ?? ''
        },
      },
    },
  })
  // Time enough for all of them to be open before. A few at a time, so that none waits in a queue: its deadline counts
  // from the moment that it is opened.
  deadline = Date.now() + 4000 + count * 4
  const runs: PromiseLike<{ output: string }>[] = []
  while (runs.length < count) {
    for (let n = 0; n < openedAtOnce && runs.length < count; n += 1) runs.push(line.run('caller', 'go'))
    await waitFor(line, 2 * runs.length, deadline)
  }
  const results = await Promise.all(runs)
  const failed = results.filter(({ output }) => output !== 'timed_out').length
  const own = new Map<string, number>()
  const ends: { late: number; text: string }[] = []
  for (const { at, events } of listRows(line.store.db))
    for (const event of JSON.parse(events) as Event[]) {
      if (event.type === 'call.opened') own.set(event.call, event.deadline)
      if (event.type === 'call.ended') ends.push({ late: at - (own.get(event.call) ?? 0), text: events })
    }
  const spreadMs = Math.max(...own.values()) - Math.min(...own.values())
  await line.close()
  const recorded = ends.map(({ late }) => late).sort((a, b) => a - b)
  told.sort((a, b) => a - b)
  return {
    count,
    spreadMs,
    recordedP99Ms: quantile(recorded, 0.99),
    toldP99Ms: quantile(told, 0.99),
    allToldMs: told.at(-1) ?? Number.NaN,
    bareMs: writeBare(ends.map(({ text }) => text)),
    failed,
  }
}

/** As the store does it: at most 256 in one commit. */
function writeBare(texts: readonly string[]): number {
  const { begin, commit, insert, close } = openRawLog(join(scratch.data, 'bare.db'))
  const from = performance.now()
  for (let at = 0; at < texts.length; at += 256) {
    begin.run()
    for (const text of texts.slice(at, at + 256)) insert.run(0, text)
    commit.run()
  }
  const ms = performance.now() - from
  close()
  return ms
}

function watchStalls(): { take(): number; stop(): void } {
  let most = 0
  const stop = watchLateness(50, ({ maxMs }) => (most = Math.max(most, maxMs)))
  return {
    take() {
      const taken = most
      most = 0
      return taken
    },
    stop,
  }
}

async function measureFlight(count: number): Promise<FlightResult> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const line = await open({ agents: { slow } })
  await line.run('slow', 'warm up', { timeoutMs: 50 })
  collect()
  const before = process.memoryUsage()
  const stalls = watchStalls()
  await sleep(200)
  stalls.take()
  const startedAt = Date.now()
  // They end one after the other, over ten seconds, after all have started and have been weighed.
  const [restMs, spreadMs] = [6000 + count, 10_000]
  const late: number[] = []
  const runs: PromiseLike<unknown>[] = []
  for (let n = 0; n < count; n += 1) {
    const deadline = startedAt + restMs + (n * spreadMs) / count
    runs.push(
      line.run('slow', `wait ${n}`, { timeoutMs: Math.round(deadline - Date.now()) }).then(() => {
        late.push(Date.now() - deadline)
      }),
    )
    // As they would come over sockets: not all in one go.
    if (n % 50 === 49) await new Promise(setImmediate)
  }
  await waitFor(line, count)
  const startMs = Date.now() - startedAt
  await sleep(100)
  const starting = stalls.take()
  await sleep(1500)
  const waiting = stalls.take()
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  collect()
  const after = process.memoryUsage()
  stalls.take()
  await sleep(startedAt + restMs - Date.now() - 100)
  stalls.take()
  await Promise.all(runs)
  await sleep(100)
  const ending = stalls.take()
  stalls.stop()
  await line.close()
  late.sort((a, b) => a - b)
  return {
    count,
    lateP50Ms: quantile(late, 0.5),
    lateP99Ms: quantile(late, 0.99),
    lateMaxMs: late.at(-1) ?? Number.NaN,
    timers,
    heapBytesEach: (after.heapUsed - before.heapUsed) / count,
    rssBytesEach: (after.rss - before.rss) / count,
    stallMs: { starting, waiting, ending },
    startMs,
  }
}

/** What has a deadline never runs all at once where the machine needs longer than that to start it. */
async function waitFor(line: Tieline, count: number, deadline = Infinity): Promise<void> {
  while (line.running() < count) {
    if (Date.now() >= deadline) throw new Error('not all had started by their deadline: the machine is full')
    await sleep(1)
  }
}

/** One flow makes many calls at once; meanwhile others make their first. */
async function measureFair(count: number): Promise<FairResult> {
  const began = new Map<string, number>()
  const line = await open({
    agents: {
      quick: {
        script: ({ task }: ScriptedTurn) => {
          began.set(task, performance.now())
          return 'done'
        },
      },
      caller: {
        allowSubAgentCalls: true,
        tools: ['sub_agent'],
        script: async (turn: ScriptedTurn) => {
          const calls = Array.from({ length: turn.task === 'many' ? count : 1 }, (_, n) =>
            turn.tool('sub_agent', { agent_name: 'quick', task: `${turn.task} ${n}` }),
          )
          return String((await Promise.all(calls)).filter(({ ok }) => !ok).length)
        },
      },
    },
  })
  const measureFirst = async (name: string): Promise<number> => {
    const from = performance.now()
    await line.run('caller', name)
    return (began.get(`${name} 0`) ?? Infinity) - from
  }
  const alone: number[] = []
  for (let n = 0; n < 40; n += 1) alone.push(await measureFirst(`alone-${n}`))
  const beside: number[] = []
  const many = line.run('caller', 'many')
  let isDone = false
  void many.then(() => (isDone = true))
  for (let n = 0; !isDone; n += 1) beside.push(await measureFirst(`beside-${n}`))
  const { output } = await many
  await line.close()
  for (const list of [alone, beside]) list.sort((a, b) => a - b)
  return {
    count,
    failed: Number(output),
    aloneMs: quantile(alone, 0.5),
    besideP50Ms: quantile(beside, 0.5),
    besideMaxMs: beside.at(-1) ?? Number.NaN,
  }
}

const [what = '', count = '0'] = process.argv.slice(2)
const measure = { deadlines: measureDeadlines, flight: measureFlight, fair: measureFair }[what]
if (measure === undefined) throw new Error(`there is nothing to measure called "${what}"`)
try {
  console.log(JSON.stringify(await measure(Number(count))))
} finally {
  scratch.remove()
}
