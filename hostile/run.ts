/**
 * One run: a server, honest load, attackers from all doors, and somebody who ends and freezes the server in
 * between.
 */
import { freePort } from '../bench/free-port.ts'
import { fork, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { wallNow, type Window } from '../bench/lateness.ts'
import { Random } from '../sim/random.ts'
import { pause, type Attack } from './attack.ts'
import { Ledger } from './ledger.ts'
import { insist, runLane } from './load.ts'
import { startProvider } from './provider.ts'
import { runAttackers, tryAlone, type Alone, type Tried } from './tries.ts'
import { Victim } from './victim.ts'
import { makeWorkspace } from './workspace.ts'

export type Plan = { seconds: number; seed: number; attacks: readonly Attack[]; keep: boolean }
export type Hostile = {
  plan: Plan
  directory: string
  dataDir: string
  run: string
  victim: Victim
  ledger: Ledger
  tried: Tried
  control: Window[]
  alone: Alone[]
  signals: Record<'SIGKILL' | 'SIGTERM' | 'SIGSTOP', number>
  /** When the attacks began and the last deliberate end of the server was over. */
  begunAt: number
  calmAt: number
  /** False where the server did not come back. */
  alive: boolean
  close(): Promise<void>
}

const attackers = 8
const lanes = 4
/**
 * Of the time: until then the server is ended and frozen; then it lives through the rest, the last part of it
 * under one attack at a time.
 */
const [violentPart, mixedPart] = [0.5, 0.75]
const provoked = 6

export async function prepare(plan: Plan): Promise<Hostile> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-hostile-'))
  const [dataDir, cwd, config] = [
    join(directory, 'data'),
    join(directory, 'work'),
    join(directory, 'tieline.json'),
  ]
  mkdirSync(dataDir)
  makeWorkspace(cwd)
  const provider = await startProvider()
  const guest = {
    driver: 'model',
    model: 'fake/m',
    tools: ['read', 'list', 'search', 'shell', 'write', 'sub_agent', 'send-message', 'buffer'],
    allowSubAgentCalls: true,
  }
  writeFileSync(
    config,
    JSON.stringify({
      providers: { fake: { kind: 'openai-compatible', baseURL: provider.url } },
      agents: { guest },
    }),
  )
  const run = `run-${plan.seed}-${process.pid}`
  const control: Window[] = []
  const watcher: ChildProcess = fork(fileURLToPath(new URL('../bench/control-process.ts', import.meta.url)))
  watcher.on('message', (window: Window) => control.push(window))
  const victim = new Victim({ dataDir, cwd, config, port: await freePort(), run })
  return {
    plan,
    directory,
    dataDir,
    run,
    victim,
    ledger: new Ledger(),
    tried: new Map(),
    control,
    alone: [],
    signals: { SIGKILL: 0, SIGTERM: 0, SIGSTOP: 0 },
    begunAt: 0,
    calmAt: Infinity,
    alive: true,
    async close() {
      await victim.kill()
      watcher.disconnect()
      await provider.close()
      if (!plan.keep) rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function openSessions(hostile: Hostile, cwd: string, count: number, agent: string): Promise<string[]> {
  const signal = AbortSignal.timeout(30_000)
  const made = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      insist({ victim: hostile.victim, ledger: hostile.ledger, signal }, '/api/sessions', {
        cwd,
        agent,
        title: `${agent} ${n}`,
      }),
    ),
  )
  return made.map((answer) => String(answer?.body['sessionId']))
}

/** Ends the server in the middle of things, each time in another way. */
async function provoke(hostile: Hostile, random: Random, until: number, over: AbortSignal): Promise<void> {
  const { victim, signals } = hostile
  const gapMs = Math.max(3000, (until - wallNow()) / provoked)
  const ways = ['SIGKILL', 'SIGSTOP', 'SIGTERM'] as const
  for (let n = 0; wallNow() + gapMs / 2 < until && !over.aborted; n += 1) {
    await pause(gapMs * (0.5 + random.below(100) / 100), over)
    if (over.aborted) return
    const way = ways[n % ways.length] ?? 'SIGKILL'
    signals[way] += 1
    if (way === 'SIGSTOP') await victim.freeze(500 + random.below(2500))
    else {
      await (way === 'SIGKILL' ? victim.kill() : victim.terminate())
      hostile.alive = await victim.start()
    }
    if (!hostile.alive) return
  }
}

/** A server that has ended by itself is started again, so that the run goes on; it is told in the end. */
async function nurse(hostile: Hostile, over: AbortSignal): Promise<void> {
  while (!over.aborted && hostile.alive) {
    await pause(500, over)
    const { crashes } = hostile.victim
    const before = crashes.length
    if (before > 0 && hostile.victim.pid !== null && (await hostile.victim.revive()))
      hostile.alive &&= crashes.length < before + 3
  }
}

export async function attack(hostile: Hostile): Promise<void> {
  const { plan, victim, directory } = hostile
  const cwd = join(directory, 'work')
  const random = (name: string): Random => new Random(plan.seed, name)
  hostile.alive = await victim.start()
  if (!hostile.alive) return
  const load = await openSessions(hostile, cwd, 12, 'clerk')
  const sessions = [
    ...(await openSessions(hostile, cwd, 6, 'clerk')),
    ...(await openSessions(hostile, cwd, 2, 'echo')),
  ]
  hostile.begunAt = wallNow()
  const [calmAt, soloAt, endAt] = [violentPart, mixedPart, 1].map(
    (part) => hostile.begunAt + plan.seconds * 1000 * part,
  ) as [number, number, number]
  const over = new AbortController()
  const { signal } = over
  const loading = { victim, ledger: hostile.ledger, cwd, signal, sessions: load }
  const trying = {
    victim,
    attacks: plan.attacks,
    target: { cwd, sessions, run: hostile.run, dataDir: hostile.dataDir },
    tried: hostile.tried,
    control: hostile.control,
  }
  const work = [
    ...Array.from({ length: lanes }, (_, lane) =>
      runLane({ ...loading, random: random(`lane ${lane}`) }, lane),
    ),
    ...Array.from({ length: attackers }, (_, lane) =>
      runAttackers(trying, random(`attacker ${lane}`), signal),
    ),
    nurse(hostile, signal),
  ]
  await provoke(hostile, random('provoke'), calmAt, signal)
  hostile.calmAt = wallNow()
  if (hostile.alive) await victim.weigh()
  while (hostile.alive && wallNow() < soloAt) await pause(100)
  over.abort()
  await Promise.all(work)
  if (!hostile.alive) return
  hostile.alone = await tryAlone(trying, random('alone'), endAt)
  await victim.weigh()
}
