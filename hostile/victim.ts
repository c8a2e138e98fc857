/** Starts the server, ends it in every way there is, and keeps what it said about itself. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { wallNow, type Window } from '../bench/lateness.ts'
import { pause } from './attack.ts'
import type { Said } from './victim-process.ts'

const attacked = fileURLToPath(new URL('./victim-process.ts', import.meta.url))
const startMsMax = 30_000
const stopMsMax = 15_000
/** Workers and the like are started after it listens: that is no stall of an input. */
const warmMs = 3000
const silentMs = 1000
const weighMsMax = 10_000

export type Life = {
  from: number
  readyAt: number
  windows: Window[]
  rss: { at: number; bytes: number }[]
  /** What it held after a collection, each time that it was asked. */
  held: number[]
}
export type Place = {
  dataDir: string
  cwd: string
  config: string
  port: number
  run: string
  /** Another server than the one that is attacked. */
  program?: string
}

/** The error, where it says one: the places of a stack say less. */
function lastWords(words: string): string {
  const lines = words.trim().split('\n')
  const errors = lines.filter((line) => /Error|error/.test(line) && !/^\s+at /.test(line))
  return (errors.length > 0 ? errors : lines).slice(-2).join(' | ').slice(0, 300)
}

export class Victim {
  readonly lives: Life[] = []
  /** Ends that nobody asked for, with the last words of the process. */
  readonly crashes: string[] = []
  readonly startMs: number[] = []
  /** What SIGTERM did not end in time. */
  deaf = 0
  url = ''
  readonly #place: Place
  #child: ChildProcess | null = null
  #expected = false
  #up = Promise.withResolvers<void>()

  constructor(place: Place) {
    this.#place = place
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** Resolves while the server is there. */
  get up(): Promise<void> {
    return this.#up.promise
  }

  /** False where it did not listen in time: then nothing more can be tried. */
  async start(): Promise<boolean> {
    const { dataDir, cwd, config, port, run, program = attacked } = this.#place
    const begun = wallNow()
    const child = spawn(process.execPath, ['--expose-gc', program, dataDir, cwd, config, String(port)], {
      cwd,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, TIELINE_HOSTILE: run },
    })
    this.#child = child
    this.#expected = false
    const life: Life = { from: begun, readyAt: Infinity, windows: [], rss: [], held: [] }
    this.lives.push(life)
    let words = ''
    child.stderr?.on('data', (chunk: Buffer) => (words = (words + chunk.toString('utf8')).slice(-20_000)))
    const ready = Promise.withResolvers<boolean>()
    child.on('message', (said: Said) => {
      if (said.kind === 'ready') {
        this.url = said.url
        life.readyAt = wallNow()
        return ready.resolve(true)
      }
      if (said.kind === 'held') return void life.held.push(said.bytes)
      if (wallNow() < life.readyAt + warmMs) return
      life.windows.push(said.window)
      life.rss.push({ at: said.window.to, bytes: said.rssBytes })
    })
    child.on('exit', (code, signal) => {
      const end = code === null ? signal : `exit ${code}`
      const seconds = Math.round((wallNow() - begun) / 1000)
      if (!this.#expected) this.crashes.push(`${end} after ${seconds} s: ${lastWords(words)}`)
      ready.resolve(false)
    })
    const listens = await Promise.race([ready.promise, pause(startMsMax).then(() => false)])
    this.startMs.push(wallNow() - begun)
    if (listens) this.#up.resolve()
    return listens
  }

  /** Asks what it holds once everything that can go has gone. */
  async weigh(): Promise<void> {
    const life = this.lives.at(-1)
    const known = life?.held.length ?? 0
    if (life === undefined || this.#child?.connected !== true) return
    this.#child.send('weigh')
    for (let waited = 0; waited < weighMsMax && life.held.length === known; waited += 50) await pause(50)
  }

  /** True where it had ended by itself and was started again. */
  async revive(): Promise<boolean> {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) return false
    this.#down()
    await this.start()
    return true
  }

  #down(): void {
    this.#up = Promise.withResolvers<void>()
  }

  async kill(): Promise<void> {
    this.#down()
    await this.#end('SIGKILL')
  }

  async terminate(): Promise<void> {
    this.#down()
    const ended = this.#end('SIGTERM')
    if (await Promise.race([ended.then(() => true), pause(stopMsMax).then(() => false)])) return
    this.deaf += 1
    await this.#end('SIGKILL')
  }

  /** A server that says nothing any more stalls, and can no longer say so. */
  noteSilence(): void {
    const life = this.lives.at(-1)
    if (life === undefined || !Number.isFinite(life.readyAt)) return
    const from = life.windows.at(-1)?.to ?? life.readyAt + warmMs
    const to = wallNow()
    if (to - from > silentMs) life.windows.push({ from, to, maxMs: to - from })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child?.exitCode === null && child.signalCode === null) this.noteSilence()
    this.#expected = true
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  /**
   * Stands still for a while, as under a debugger or on a laptop that sleeps. What it says about that time is
   * left out.
   */
  async freeze(ms: number): Promise<void> {
    const life = this.lives.at(-1)
    const from = wallNow()
    this.#child?.kill('SIGSTOP')
    await pause(ms)
    this.#child?.kill('SIGCONT')
    await pause(600)
    if (life === undefined) return
    life.windows = life.windows.filter((window) => window.to < from || window.from > from + ms + 500)
  }
}
