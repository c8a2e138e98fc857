/**
 * One process group of an agent. It ends with us in every way that there is: asked, by signal, by force, and when
 * this process is killed (a sandbox dies with its parent; without one a watcher on a pipe ends the group).
 */
import { spawn, type ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { listen } from '../../model/contained.ts'
import type { Launch } from '../../runtime/kernel/launch-port.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { endStrays, watchCommand } from '../../tools/strays.ts'
import { openMessages, type MessageStream } from './wire.ts'

const pollMs = 20
/** From closing its input to SIGTERM, and from there to SIGKILL. */
const politeMs = 100
const graceMs = 400
const stderrUnitsMax = 4000

export type AgentProcess = {
  messages: MessageStream
  /** Settles when the first process has ended, with how. */
  exited: Promise<string>
  /** The end of what it wrote to its error stream. */
  said: () => string
  /** Ends the group, and settles when nobody is left in it. */
  stop(): Promise<void>
}

/** Rejects where it cannot be started at all. */
export async function startProcess(launch: Launch, report: (fault: unknown) => void): Promise<AgentProcess> {
  const watched = launch.sandboxed ? null : watchCommand(launch, systemClock.elapsed())
  const { program, args, cwd, env } = watched ?? launch
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: watched === null ? ['pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  await begun(child)
  const stderr = keepTail(child.stderr as Readable)
  const exited = new Promise<string>((resolve) =>
    listen(child, 'exit', report, (code: number | null, signal: string | null) =>
      resolve(signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`),
    ),
  )
  listen(child, 'error', report, report)
  const messages = openMessages({ stdin: child.stdin as Writable, stdout: child.stdout as Readable }, () => {
    // A stream that broke is noticed by whoever waits for an answer.
  })
  let stopping: Promise<void> | null = null
  const stop = async (): Promise<void> => {
    await endGroup(child)
    if (watched !== null) await endStrays(watched.mark)
    for (const stream of child.stdio) stream?.destroy()
  }
  return { messages, exited, said: stderr, stop: () => (stopping ??= stop()) }
}

function begun(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    listen(child, 'spawn', reject, resolve)
    listen(child, 'error', reject, reject)
  })
}

async function endGroup(child: ChildProcess): Promise<void> {
  const group = child.pid
  if (group === undefined) return
  child.stdin?.end()
  if (await isGone(group, politeMs)) return
  signalGroup(group, 'SIGTERM')
  if (await isGone(group, graceMs)) return
  signalGroup(group, 'SIGKILL')
  await isGone(group, graceMs)
}

/** Processes run in real time, whatever clock the runtime has. */
async function isGone(group: number, ms: number): Promise<boolean> {
  const end = systemClock.elapsed() + ms
  while (signalGroup(group, 0)) {
    if (systemClock.elapsed() >= end) return false
    await systemClock.sleep(pollMs)
  }
  return true
}

/** False when nobody is left in the group. */
function signalGroup(group: number, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  try {
    process.kill(-group, signal)
    return true
  } catch {
    // ESRCH, or what macOS answers for a group of which only a dead leader is left.
    return false
  }
}

function keepTail(stream: Readable): () => string {
  let tail = ''
  const stop = (): void => void stream.destroy()
  listen(stream, 'data', stop, (piece: Buffer) => {
    tail = (tail + piece.toString('utf8')).slice(-stderrUnitsMax)
  })
  listen(stream, 'error', stop, stop)
  return () => tail.trim()
}
