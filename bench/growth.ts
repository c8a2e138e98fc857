/**
 * A directory with a long log next to an empty one: start, totals, lists, the hot path, and what is left of it after
 * nine tenths were archived. TIELINE_BENCH_GROWN names a directory that `grow-log.ts` made before; it is copied.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { logCare } from '../src/log-care.ts'
import { openLine, type OpenLine } from '../src/open-line.ts'
import { growAgents, growLog } from './grow-log.ts'
import { buildProgram, measureStartMs } from './http-start.ts'
import type { Progress } from './progress.ts'
import { formatNumber, formatRatio, requireAtMost, type Check, type Part } from './report.ts'
import { median, quantile } from './round.ts'
import { connectClient, type WireClient } from './wire-client.ts'
import { createScratch, nextUserTask } from './work.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const delegationsDefault = 30_000
const days = 28
const dayMs = 86_400_000
const rounds = 7
const asks = 100
const countMsMax = 600_000

/** Lists, and what one opens from them; `{flow}`, `{call}` and `{session}` are the oldest of the newest page. */
const lists = [
  '/api/sessions',
  '/api/sessions?limit=200',
  '/api/flows',
  '/api/flows?limit=200',
  '/api/flows?state=failed',
  '/api/flows?state=live',
  '/api/calls',
  '/api/calls?limit=200',
  '/api/needs',
  '/api/waits',
  '/api/questions',
  '/api/drafts',
  '/api/dead-letters',
  '/api/agents',
  '/api/flows/{flow}',
  '/api/flows/{flow}/events',
  '/api/calls/{call}',
  '/api/sessions/{session}',
  '/api/sessions/{session}/messages',
  '/api/sessions/{session}/calls',
  '/api/numbers',
]

type Server = { client: WireClient; stop(): Promise<void> }

const serveArgs = (directory: string): string[] => [
  'bin/tieline.js',
  'serve',
  '--port',
  '0',
  '--json',
  '--data-dir',
  directory,
]

async function startServer(directory: string): Promise<Server> {
  const child: ChildProcess = spawn(process.execPath, serveArgs(directory), {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const chunk of child.stdout ?? []) if ((text += String(chunk)).includes('\n')) break
  const client = await connectClient((JSON.parse(text) as { url: string }).url)
  return {
    client,
    async stop() {
      client.destroy()
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    },
  }
}

/** Until the totals are complete, from the first request for them. */
async function untilCounted({ client }: Server): Promise<number> {
  const from = performance.now()
  for (;;) {
    const { body } = await client.get('/api/numbers')
    const ms = performance.now() - from
    if ((JSON.parse(body) as { complete: boolean }).complete) return ms
    if (ms > countMsMax) throw new Error('the totals are not complete')
  }
}

async function measureLists({ client }: Server): Promise<[string, number, number][]> {
  const read = async (path: string): Promise<string> => {
    const { status, body } = await client.get(path)
    if (status !== 200) throw new Error(`${path} answered ${status}: ${body}`)
    return body
  }
  const { flows } = JSON.parse(await read('/api/flows')) as { flows: { flow: string; session: string }[] }
  const call = /call_[\w-]+/.exec(await read('/api/calls'))?.[0] ?? ''
  const of: Record<string, string> = {
    flow: flows.at(-1)?.flow ?? '',
    session: flows.at(-1)?.session ?? '',
    call,
  }
  const measured: [string, number, number][] = []
  for (const list of lists) {
    const path = list.replaceAll(/\{(\w+)\}/g, (_all, name: string) => of[name] ?? '')
    for (let n = 0; n < 5; n += 1) await read(path)
    const taken: number[] = []
    for (let n = 0; n < asks; n += 1) {
      const from = performance.now()
      await read(path)
      taken.push(performance.now() - from)
    }
    taken.sort((a, b) => a - b)
    measured.push([list, quantile(taken, 0.5), quantile(taken, 0.99)])
  }
  return measured
}

async function measureServer(directory: string) {
  const server = await startServer(directory)
  try {
    const countMs = await untilCounted(server)
    const listed = await measureLists(server)
    const { end } = JSON.parse((await server.client.get('/api/numbers')).body) as { end: string }
    return { countMs, listed, end }
  } finally {
    await server.stop()
  }
}

/** CPU of one delegation in the long log against one in the empty one, in alternating rounds. */
async function measureHotPath(grown: string, empty: string, workspace: string): Promise<number> {
  const open = (dataDir: string): Promise<OpenLine> =>
    openLine({ dataDir, cwd: workspace, agents: growAgents })
  const lines = [await open(grown), await open(empty)] as const
  const cost = async (line: OpenLine): Promise<number> => {
    const from = process.cpuUsage()
    let done = 0
    const lane = async (): Promise<void> => {
      for (; done < 400; done += 1) await line.run('planner', nextUserTask())
    }
    await Promise.all(Array.from({ length: 32 }, lane))
    const { user, system } = process.cpuUsage(from)
    return (user + system) / done
  }
  const ratios: number[] = []
  for (let round = 0; round < rounds + 2; round += 1) {
    const [long, short] = [await cost(lines[0]), await cost(lines[1])]
    if (round > 1) ratios.push(long / short)
  }
  for (const line of lines) await line.close()
  return median(ratios)
}

/**
 * What a person may open of a flow, oldest and newest: its events, its replay, its export. (The replay of a repeated
 * delegation finds a difference, because the ids of calls are part of what its model was asked.)
 */
async function openAll(directory: string, workspace: string): Promise<ReadonlyMap<string, string>> {
  const line = await openLine({ dataDir: directory, cwd: workspace, agents: growAgents })
  const opened = new Map<string, string>()
  try {
    const { flows } = line.store.db
      .prepare(
        `select json_group_array('flow_' || substr(id, 6)) as flows from (select t.id as id
          from requests r join all_turns t on t.opened_seq = r.seq
          where r.seq < 150 or r.seq > (select max(seq) - 150 from log) order by r.seq)`,
      )
      .get() as { flows: string }
    for (const flow of JSON.parse(flows) as string[]) {
      const events = await line.log.events(flow)
      const { turns } = await line.log.replay(flow)
      const { text } = await line.log.export(flow)
      await line.log.explain(flow)
      if (events.length < 10 || turns.length < 2 || text.length < 1000)
        throw new Error(`${flow} does not open whole`)
      opened.set(flow, JSON.stringify([events, turns, text]))
    }
  } finally {
    await line.close()
  }
  return opened
}

async function prepare(directory: string, workspace: string, progress: Progress): Promise<string> {
  const given = process.env['TIELINE_BENCH_GROWN']
  const grown = join(directory, 'grown')
  if (given !== undefined) cpSync(given, grown, { recursive: true })
  else {
    mkdirSync(grown, { mode: 0o700 })
    const delegations = delegationsDefault
    const firstAt = Date.now() - days * dayMs
    const everyMs = Math.floor((days * dayMs) / delegations)
    const archived = Math.floor(delegations * 0.9)
    await growLog({ directory: grown, workspace, delegations, firstAt, everyMs, archived })
  }
  progress.step('a long log')
  return grown
}

export async function growth(progress: Progress): Promise<Part> {
  progress.part('growth', 6)
  const directory = mkdtempSync(join(tmpdir(), 'tieline-bench-growth-'))
  const { workspace, remove } = createScratch()
  try {
    const grown = await prepare(directory, workspace, progress)
    await buildProgram()
    const first = await startServer(grown)
    const firstCountMs = await untilCounted(first)
    await first.stop()
    progress.step('counted')
    const starts: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      starts[0].push(await measureStartMs(serveArgs(grown)))
      starts[1].push(await measureStartMs(serveArgs(join(directory, 'empty'))))
    }
    progress.step('started')
    const { countMs, listed, end } = await measureServer(grown)
    progress.step('lists')
    // On a copy: what it adds is new, and would stay when nine tenths are archived.
    const copied = join(directory, 'copied')
    cpSync(grown, copied, { recursive: true })
    const hot = await measureHotPath(copied, join(directory, 'hot'), workspace)
    progress.step('hot path')
    const now = Date.now()
    const before = await openAll(grown, workspace)
    const moved = await logCare.archive({ directory: grown, now, endedBefore: now - (days / 10) * dayMs })
    const after = await openAll(grown, workspace)
    for (const [flow, text] of before)
      if (after.get(flow) !== text) throw new Error(`${flow} does not open as it was`)
    progress.step('archived')
    const [long, short] = starts.map((taken) => median(taken)) as [number, number]
    const share = moved.bytesAfter / moved.bytesBefore
    return {
      name: 'growth',
      notes: [
        `${moved.flows} requests were archived; ${after.size} flows were opened, replayed and exported as before.`,
      ],
      tables: [
        {
          title: `A log of ${Number(end).toLocaleString('en')} events`,
          columns: ['', 'figure'],
          rows: [
            ['start, ms', formatNumber(long)],
            ['start of an empty one, ms', formatNumber(short)],
            ['totals counted for the first time, ms', formatNumber(firstCountMs)],
            ['totals complete after a restart, ms', formatNumber(countMs)],
            ['CPU of a delegation against an empty log', formatRatio(hot)],
            ['directory before, MB', formatNumber(moved.bytesBefore / 1e6)],
            ['directory after nine tenths were archived, MB', formatNumber(moved.bytesAfter / 1e6)],
          ],
        },
        {
          title: 'Lists, ms',
          columns: ['', 'p50', 'p99'],
          rows: listed.map(([list, p50, p99]) => [list, formatNumber(p50), formatNumber(p99)]),
        },
      ],
      checks: judge(long / short, countMs, listed, hot, share),
    }
  } finally {
    remove()
    rmSync(directory, { recursive: true, force: true })
  }
}

const judge = (
  start: number,
  countMs: number,
  listed: readonly [string, number, number][],
  hot: number,
  share: number,
): Check[] => [
  requireAtMost('a long log: start against an empty one', start, 1.2, '×'),
  requireAtMost('a long log: totals complete after the first request', countMs, 100, ' ms'),
  ...listed.map(([list, , p99]) => requireAtMost(`a long log: ${list}, p99`, p99, 30, ' ms')),
  requireAtMost('a long log: CPU of a delegation against an empty one', hot, 1.05, '×'),
  requireAtMost('a long log: directory after nine tenths were archived', share, 0.2, '×'),
]
