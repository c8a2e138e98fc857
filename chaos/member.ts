/** One node: its process, its directory, and the network between it and the database. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../bench/free-port.ts'
import { pause } from '../hostile/attack.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import { tcpProxy, type Proxy } from '../test/kits/tcp-proxy.ts'
import type { Said } from './scene.ts'

const program = fileURLToPath(new URL('./node-process.ts', import.meta.url))
const startMsMax = 120_000
const startsMax = 6
/** Much more than it takes, also on a machine that has no time: who is deaf stays so. */
const stopMsMax = 90_000

export type Member = {
  readonly name: string
  readonly dataDir: string
  readonly proxy: Proxy
  readonly url: string
  /** Ends that nobody asked for, with the last words of the process. */
  readonly crashes: string[]
  /** What SIGTERM did not end in time. */
  readonly deaf: string[]
  isRunning(): boolean
  /** False where it did not listen in time. */
  start(): Promise<boolean>
  kill(): Promise<void>
  terminate(): Promise<void>
  freeze(ms: number): Promise<void>
}

/** False where it takes longer. No timer is left that would keep the run itself from ending. */
async function within(ms: number, done: Promise<boolean>): Promise<boolean> {
  const over = new AbortController()
  const late = pause(ms, over.signal).then(() => false)
  return Promise.race([done, late]).finally(() => over.abort())
}

export async function createMember(directory: string, name: string, database: number): Promise<Member> {
  const proxy = await tcpProxy(database)
  const port = await freePort()
  const place = join(directory, name)
  mkdirSync(place)
  const config = join(place, 'tieline.toml')
  writeFileSync(
    config,
    `[store]\nengine = "postgres"\n[node]\nname = "${name}"\n[server]\ndataDir = "data"\n`,
  )
  const crashes: string[] = []
  const deaf: string[] = []
  let child: ChildProcess | null = null
  let expected = true
  let lastWords = ''
  const startOften = async (): Promise<boolean> => {
    // As a supervisor would: a node that starts without its database gives up after a while.
    for (let n = 0; n < startsMax; n += 1) if (await start()) return true
    crashes.push(`${name} did not start in ${startsMax} tries: ${lastWords.slice(-600)}`)
    return false
  }
  const isRunning = (): boolean => child !== null && child.exitCode === null && child.signalCode === null
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    expected = true
    if (child === null || !isRunning()) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }
  const start = async (): Promise<boolean> => {
    const begunAt = systemClock.elapsed()
    const started = spawn(process.execPath, [program, config, String(port), directory, name], {
      cwd: directory,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: {
        ...process.env,
        TIELINE_DATABASE_URL: `postgres://tieline@127.0.0.1:${proxy.port}/postgres`,
      },
    })
    child = started
    expected = false
    let words = ''
    lastWords = ''
    started.stderr?.on(
      'data',
      (chunk: Buffer) => (lastWords = words = (words + chunk.toString('utf8')).slice(-8000)),
    )
    const ready = Promise.withResolvers<boolean>()
    let isReady = false
    started.on('message', (said: Said) => ready.resolve((isReady = said.kind === 'ready')))
    started.on('exit', (code, signal) => {
      // One that was killed says nothing about itself.
      const after = Math.round((systemClock.elapsed() - begunAt) / 1000)
      if (isReady && (!expected || (code !== null && code !== 0)))
        crashes.push(
          `${name}: ${code === null ? signal : `exit ${code}`} after ${after} s: ${words.slice(-600)}`,
        )
      ready.resolve(false)
    })
    if (await within(startMsMax, ready.promise)) return true
    // One that still starts would keep its directory from the next.
    await end('SIGKILL')
    return false
  }
  return {
    name,
    dataDir: join(place, 'data'),
    proxy,
    url: `http://127.0.0.1:${port}`,
    crashes,
    deaf,
    isRunning,
    start: startOften,
    kill: () => end('SIGKILL'),
    async terminate() {
      const ended = end('SIGTERM').then(() => true)
      if (await within(stopMsMax, ended)) return
      deaf.push(`${name} did not end within ${stopMsMax / 1000} s of SIGTERM`)
      await end('SIGKILL')
    },
    async freeze(ms) {
      child?.kill('SIGSTOP')
      await pause(ms)
      child?.kill('SIGCONT')
    },
  }
}
