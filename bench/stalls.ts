/**
 * The longest stall of the event loop for every route and every tool with the largest input that it takes,
 * beyond what a control process on the same machine sees.
 */
import { freePort } from './free-port.ts'
import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import WebSocket from 'ws'
import { pause } from '../hostile/attack.ts'
import { Victim, type Place } from '../hostile/victim.ts'
import { makeWorkspace } from '../hostile/workspace.ts'
import { standardTools } from '../src/tools/standard.ts'
import { latest, wallNow, type Window } from './lateness.ts'
import type { Progress } from './progress.ts'
import type { Part } from './report.ts'
import { furnish } from './stall-furnish.ts'
import { requestsOf, type Ids } from './stall-routes.ts'
import { deep, texts } from './stall-texts.ts'
import { toolInputs } from './stall-tools.ts'
import { cell, stallTable, type Measured } from './stall-table.ts'

const stallMsMax = 50

const tryMsMax = 20_000

const settleMs = 350

const hangMs = 3000

const warmMs = 3500

/** A stall of the input comes again; one of the machine does not. */
const repeats = 2

type Bench = {
  victim: Victim
  control: Window[]
  ids: Ids
  /**
   * A server that hangs, or has ended, is begun anew with nothing in its log: what comes next must not suffer
   * from it.
   */
  renew(): Promise<void>
}

/** What it sends depends on ids, which are others after the server was begun anew. */
type Try = { what: string; input: string; send: (url: string, ids: Ids) => Promise<string> }

async function ask(
  url: string,
  method: string,
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<string> {
  try {
    const response = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      signal: AbortSignal.timeout(path.startsWith('/api/events') ? 1500 : tryMsMax),
      ...(body === undefined ? {} : { body }),
    })
    await response.arrayBuffer().catch(() => undefined)
    return String(response.status)
  } catch {
    return path.startsWith('/api/events') ? 'streamed' : 'cut'
  }
}

async function triesOf(url: string, ids: Ids): Promise<Try[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>
  }
  const described = Object.entries(paths).flatMap(([route, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), route] as const),
  )
  const routes = [...described.filter(([, route]) => route !== '/ws'), ['POST', '/mcp'] as const]
  const ofRoutes = routes.flatMap(([method, route]) =>
    requestsOf(method, route, ids).map(({ input }, place): Try => ({
      what: `${method} ${route}`,
      input,
      send: (at, now) => sendTo(at, method, route, place, now),
    })),
  )
  const inputs = toolInputs(ids)
  const missing = standardTools(() => 0, [])
    .map(({ name }) => name)
    .filter((name) => inputs[name] === undefined)
  if (missing.length > 0) throw new Error(`bench/stall-tools.ts has no input for ${missing.join(', ')}`)
  const ofTools = Object.entries(inputs).flatMap(([tool, some]) =>
    Object.keys(some).map((input): Try => ({
      what: `tool ${tool}`,
      input,
      send: (at) =>
        ask(
          at,
          'POST',
          '/api/calls',
          JSON.stringify({
            agent: 'worker',
            task: `use ${tool} / ${input}`,
            allow_nested_calls: true,
            timeout_seconds: 15,
          }),
        ),
    })),
  )
  return [...ofRoutes, ...framesOf(), ...ofTools]
}

const framesOf = (): Try[] => [
  {
    what: '/ws',
    input: 'deep JSON',
    send: (at) => frame(at, '/ws', `{"type":"subscribe","sessionIds":${deep(31_000)}}`),
  },
  {
    what: '/ws',
    input: 'many names',
    send: (at) =>
      frame(
        at,
        '/ws',
        JSON.stringify({
          type: 'subscribe',
          sessionIds: Array.from({ length: 200 }, (_, n) => `${n}`.padEnd(200, 'x')),
        }),
      ),
  },
  { what: '/ws', input: 'all events', send: (at) => frame(at, '/ws', '{"type":"subscribe","after":"0"}') },
  {
    what: '/ws/host',
    input: 'deep JSON',
    send: (at) =>
      frame(at, '/ws/host', `{"type":"tool","turn":"t","id":"i","name":"n","input":${deep(100_000)}}`),
  },
  {
    what: '/ws/host',
    input: 'a frame of 2 MiB',
    send: (at) =>
      frame(
        at,
        '/ws/host',
        JSON.stringify({ type: 'answer', turn: 't', output: texts['half keys']?.(2_000_000) }),
      ),
  },
]

const frame = (url: string, path: string, text: string): Promise<string> =>
  new Promise((resolve) => {
    const ws = new WebSocket(url.replace('http', 'ws') + path)
    const timer = setTimeout(() => ws.terminate(), 1500)
    ws.on('open', () => ws.send(text))
    ws.on('error', () => undefined)
    ws.on('close', (code) => {
      clearTimeout(timer)
      resolve(String(code))
    })
  })

function sendTo(url: string, method: string, route: string, place: number, ids: Ids): Promise<string> {
  const { path = '', body, headers } = requestsOf(method, route, ids)[place] ?? {}
  return ask(url, method, path, body, headers)
}

async function measure(bench: Bench, { what, input, send }: Try): Promise<Measured> {
  const { victim, control } = bench
  let [beyondMs, status] = [Infinity, '']
  for (let n = 0; n < repeats && beyondMs > stallMsMax / 5; n += 1) {
    await victim.up
    const from = wallNow()
    status = await send(victim.url, bench.ids)
    await pause(settleMs)
    victim.noteSilence()
    const windows = victim.lives.at(-1)?.windows.filter((window) => window.to > from) ?? []
    beyondMs = Math.min(
      beyondMs,
      Math.max(0, ...windows.map((window) => window.maxMs - latest(control, window.from, window.to))),
    )
    if (victim.crashes.length > 0)
      return renewed(bench, { what, input, status: 'ended the server', beyondMs: Infinity })
    if (beyondMs > hangMs) return renewed(bench, { what, input, status, beyondMs })
  }
  return { what, input, status, beyondMs }
}

async function renewed(bench: Bench, measured: Measured): Promise<Measured> {
  await bench.renew()
  return measured
}

async function begin(place: Place, control: Window[]): Promise<Bench> {
  const start = async (): Promise<Pick<Bench, 'victim' | 'ids'>> => {
    const victim = new Victim(place)
    if (!(await victim.start())) throw new Error('the server did not start')
    const ids = await furnish(victim.url, place.cwd)
    await pause(warmMs)
    return { victim, ids }
  }
  const bench: Bench = {
    ...(await start()),
    control,
    async renew() {
      await bench.victim.kill()
      rmSync(place.dataDir, { recursive: true, force: true })
      mkdirSync(place.dataDir)
      Object.assign(bench, await start())
    },
  }
  return bench
}

/** A part of the routes and tools, in their order, so that the tables of all parts make the whole one. */
function chooseShare(tries: readonly Try[], [which, of]: Share): readonly Try[] {
  const names = [...new Set(tries.map(({ what }) => what))]
  const from = Math.floor((names.length * (which - 1)) / of)
  const chosen = new Set(names.slice(from, Math.floor((names.length * which) / of)))
  return tries.filter(({ what }) => chosen.has(what))
}

/** The first of three: [1, 3]. */
export type Share = readonly [which: number, of: number]

export async function stalls(progress: Progress, share: Share): Promise<Part> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-stalls-'))
  const [dataDir, cwd] = [join(directory, 'data'), join(directory, 'work')]
  mkdirSync(dataDir)
  makeWorkspace(cwd)
  const control: Window[] = []
  const watcher = fork(fileURLToPath(new URL('control-process.ts', import.meta.url)))
  watcher.on('message', (window: Window) => control.push(window))
  const place = {
    dataDir,
    cwd,
    config: '',
    port: await freePort(),
    run: `stalls-${process.pid}`,
    program: fileURLToPath(new URL('stall-server.ts', import.meta.url)),
  }
  const bench = await begin(place, control)
  const measured: Measured[] = []
  try {
    const tries = chooseShare(await triesOf(bench.victim.url, bench.ids), share)
    progress.part('stalls', tries.length)
    for (const one of tries) {
      measured.push(await measure(bench, one))
      progress.step(`${one.what}, ${one.input}: ${cell(measured.at(-1)?.beyondMs ?? 0)} ms`)
    }
  } finally {
    await bench.victim.kill()
    watcher.disconnect()
    rmSync(directory, { recursive: true, force: true })
  }
  const longest = Math.max(0, ...measured.map(({ beyondMs }) => beyondMs))
  return {
    name: 'stalls',
    tables: [],
    notes: [stallTable(measured)],
    checks: [
      {
        name: 'longest stall of the event loop with the largest inputs, beyond a control process',
        figure: longest,
        relation: '<=',
        limit: stallMsMax,
        unit: ' ms',
      },
    ],
  }
}
