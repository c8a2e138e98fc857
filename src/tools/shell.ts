/**
 * `shell`: runs one command.
 *
 * S1. Nothing outlives the command: its process group is ended when it exits, when its time is up and when
 * the turn stops.
 * S2. The answer waits neither for processes that hold the pipes, nor for those that ignore a signal.
 * S3. The command sees none of the server's environment but what a shell needs: no keys.
 *
 * In a sandbox all of it is certain. Without one a process that leaves its group and drops its environment gets
 * away, and the server's files are readable to the command: it runs as the same user.
 */
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { listen } from '../model/contained.ts'
import { isRefusal } from '../model/refusal.ts'
import { byteLength } from '../model/text.ts'
import type { Launch } from '../runtime/kernel/launch-port.ts'
import { systemClock } from '../runtime/kernel/system-clock.ts'
import { refused, Text, workspaceTool } from './answer.ts'
import { readErrno } from './containment.ts'
import { endStrays, watchCommand } from './strays.ts'

const timeoutSecondsDefault = 120
const timeoutSecondsMax = 600
/** Below the kernel's bound for one argument, 128 KiB. */
const commandBytesMax = 100_000
/** Kept of each stream: this much of its start, and as much of its end. */
const keptBytesMax = 32_768
/** From SIGTERM to SIGKILL. */
const graceMs = 250
const pollMs = 10
/** How long output is awaited after the command has exited, while somebody else holds its pipes. */
const drainMs = 100
const passedOn = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TERM', 'TMPDIR', 'USER', 'SHELL']

const Input = z.strictObject({
  command: Text.min(1, 'a command that is not empty')
    .refine((text) => !text.includes('\0'), 'a command without NUL characters')
    .describe('Command line for /bin/sh'),
  timeout_seconds: z
    .number()
    .positive()
    .default(timeoutSecondsDefault)
    .describe(`At most ${timeoutSecondsMax}`),
})

export const shell = workspaceTool({
  name: 'shell',
  effect: 'write',
  description:
    'Runs a command with /bin/sh in the working directory, without input. ' +
    `Of each stream the first and last ${keptBytesMax} bytes are kept. ` +
    'Processes left in the background end with the command.',
  input: Input,
  async run(input, context) {
    const bytes = byteLength(input.command)
    if (bytes > commandBytesMax)
      return refused({ code: 'too_large', field: 'command', bytes, bytesMax: commandBytesMax })
    const timeoutMs = Math.ceil(Math.min(input.timeout_seconds, timeoutSecondsMax) * 1000)
    const command = {
      program: '/bin/sh',
      args: ['-c', input.command],
      cwd: context.session.cwd,
      env: cleanEnvironment(),
    }
    const launch = (await context.launch?.(command)) ?? { ...command, sandboxed: false }
    if (isRefusal(launch)) return refused(launch)
    // A stop that came while the sandbox was made is not said again: the command would run on.
    context.signal.throwIfAborted()
    const end = await runCommand(launch, timeoutMs, context.signal)
    context.signal.throwIfAborted()
    return { ok: end.exit_code === 0 && !end.timed_out, value: end }
  },
})

type End = {
  exit_code: number | null
  signal: string | null
  stdout: string
  stderr: string
  truncated: boolean
  timed_out: boolean
  duration_ms: number
}

async function runCommand(launch: Launch, timeoutMs: number, signal: AbortSignal): Promise<End> {
  const startedAt = systemClock.elapsed()
  const watched = launch.sandboxed ? null : watchCommand(launch, startedAt)
  const { program, args, cwd, env } = watched ?? launch
  // Detached makes it the leader of its own group, whose id is its pid.
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: watched === null ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  }) as ChildProcessByStdio<null, Readable, Readable>
  const group = child.pid
  if (group === undefined) throw await startFault(child, program, cwd)
  const stdout = keepEnds(child.stdout)
  const stderr = keepEnds(child.stderr)
  const timedOut = await untilEnd(child, group, timeoutMs, signal)
  if (watched !== null) await endStrays(watched.mark) // S1
  for (const stream of child.stdio) stream?.destroy()
  const [out, err] = [stdout(), stderr()]
  return {
    exit_code: child.exitCode,
    signal: child.signalCode,
    stdout: out.text,
    stderr: err.text,
    truncated: out.truncated || err.truncated,
    timed_out: timedOut,
    duration_ms: Math.max(0, systemClock.elapsed() - startedAt),
  }
}

/** Until the whole group has ended and its output is read, by itself or by force. Whether its time was up. */
async function untilEnd(
  child: ChildProcess,
  group: number,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const scope = new AbortController()
  const closed = new Promise((resolve) => child.once('close', resolve))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const time = after(timeoutMs, scope.signal)
  const stop = new Promise((resolve) =>
    signal.addEventListener('abort', resolve, { once: true, signal: scope.signal }),
  )
  try {
    const timedOut = await Promise.race([
      exited.then(() => false),
      stop.then(() => false),
      time.then(() => true),
    ])
    await Promise.race([closed, stop, time, after(drainMs, scope.signal)])
    await endGroup(group, scope.signal) // S1
    await Promise.race([closed, after(drainMs, scope.signal)]) // S2
    return timedOut
  } finally {
    // The turn's signal outlives this command: what listens to it for the command must not.
    scope.abort()
  }
}

function cleanEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const name of passedOn) {
    const value = process.env[name]
    if (value !== undefined) environment[name] = value // S3
  }
  return environment
}

async function startFault(child: ChildProcess, program: string, cwd: string): Promise<Error> {
  const [cause] = await once(child, 'error')
  return new Error(`${program} could not be started in ${cwd}`, { cause })
}

/** SIGTERM to the whole group, and SIGKILL to those that are still there after the grace. */
async function endGroup(group: number, scope: AbortSignal): Promise<void> {
  if (!signalGroup(group, 'SIGTERM')) return
  for (let waitedMs = 0; waitedMs < graceMs; waitedMs += pollMs) {
    await after(pollMs, scope)
    if (!signalGroup(group, 0)) return
  }
  signalGroup(group, 'SIGKILL')
}

/** False when nobody is left in the group. */
function signalGroup(group: number, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  try {
    process.kill(-group, signal)
    return true
  } catch (error) {
    // EPERM is what macOS answers for a group of which only a dead leader is left.
    if (['ESRCH', 'EPERM'].includes(readErrno(error))) return false
    throw error
  }
}

/**
 * Processes run in real time, whatever clock the runtime has. Also settles when the scope ends: then nobody
 * looks any more.
 */
const after = (ms: number, scope: AbortSignal): Promise<void> =>
  systemClock.sleep(ms, scope).catch(() => undefined)

/** Reads a stream to its end in bounded memory: its start, and a moving end. */
function keepEnds(stream: Readable): () => { text: string; truncated: boolean } {
  let head = Buffer.alloc(0)
  let tail = Buffer.alloc(0)
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let total = 0
  const fold = (): void => {
    tail = Buffer.concat([tail, ...waiting])
    tail = Buffer.from(tail.subarray(Math.max(0, tail.length - keptBytesMax)))
    waiting = []
    waitingBytes = 0
  }
  const stop = (): void => void stream.destroy()
  listen(stream, 'data', stop, (chunk: Buffer) => {
    total += chunk.length
    const room = keptBytesMax - head.length
    if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)])
    if (chunk.length <= room) return
    waiting.push(chunk.subarray(Math.max(0, room)))
    waitingBytes += chunk.length
    if (waitingBytes >= 4 * keptBytesMax) fold()
  })
  return () => {
    fold()
    const left = total - head.length - tail.length
    if (left === 0) return { text: Buffer.concat([head, tail]).toString('utf8'), truncated: false }
    const start = head.subarray(0, endOfPoint(head))
    const end = tail.subarray(startOfPoint(tail))
    const gap = total - start.length - end.length
    return {
      text: `${start.toString('utf8')}\n[… ${gap} bytes left out …]\n${end.toString('utf8')}`,
      truncated: true,
    }
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/**
 * Where the last whole code point ends. Bytes that are no UTF-8 stay: a code point has at most three
 * continuation bytes.
 */
function endOfPoint(bytes: Buffer): number {
  let start = bytes.length - 1
  while (start > bytes.length - 4 && isContinuation(bytes[start])) start -= 1
  const lead = bytes[start] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start + length > bytes.length ? start : bytes.length
}

function startOfPoint(bytes: Buffer): number {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start += 1
  return start
}
