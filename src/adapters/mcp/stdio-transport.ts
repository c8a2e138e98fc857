/**
 * An MCP server as a child process. The SDK's own transport passes on more of our environment than we want,
 * and ends only the process that it started: `npx` and other shims leave the real server behind. This one
 * starts a process group with exactly the given environment, and ends the whole group.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { parseJSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client'
import { inletLimits, parseJson } from '../../model/bounded-json.ts'
import { boundedLines } from '../../model/bounded-lines.ts'
import { contained, listen } from '../../model/contained.ts'
import { explain, isRefusal } from '../../model/refusal.ts'
import type { Command } from '../../runtime/kernel/launch-port.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'

/** R11: of one message of a server. A result of a mebibyte is kept; JSON may escape each character of it. */
export const mcpMessageBytesMax = 8 * 1024 * 1024

const stopMsMax = 1000
const stderrUnitsMax = 2000
const grouped = process.platform !== 'win32'

export type StdioTransport = Transport & {
  /** The end of what the server has written about itself. */
  stderr(): string
}

export function stdioTransport({ program, args, env, cwd }: Command, clock: Clock): StdioTransport {
  let child: ChildProcessWithoutNullStreams | null = null
  let ended: Promise<void> = Promise.resolve()
  let stderr = ''

  const report = (fault: unknown): void =>
    transport.onerror?.(fault instanceof Error ? fault : new Error(String(fault)))
  /** After a line that is too long nothing can be trusted. */
  const breakOff = (fault: unknown): void => {
    report(fault)
    transport.close().catch(() => undefined)
  }
  const read = boundedLines(mcpMessageBytesMax, (line) => {
    if (line.trim() === '') return
    const parsed = parseJson(line, 'message', { ...inletLimits, bytesMax: mcpMessageBytesMax })
    // Servers print other things too: what is not a message is reported and skipped.
    if (isRefusal(parsed)) return report(new Error(explain(parsed)))
    contained(report, () => transport.onmessage?.(parseJSONRPCMessage(parsed.value)))()
  })

  const transport: StdioTransport = {
    start: () =>
      new Promise((resolve, reject) => {
        const started = spawn(program, [...args], {
          cwd,
          env: { ...env },
          detached: grouped,
          windowsHide: true,
        })
        child = started
        started.once('spawn', resolve)
        listen(started, 'error', report, (error: Error) => {
          reject(error)
          transport.onerror?.(error)
        })
        for (const pipe of [started.stdin, started.stdout, started.stderr])
          listen(pipe, 'error', () => undefined, report)
        listen(started.stdout, 'data', breakOff, read)
        listen(started.stderr, 'data', report, (chunk: Buffer) => {
          const text = chunk.toString('utf8', Math.max(0, chunk.length - stderrUnitsMax * 4))
          stderr = (stderr + text).slice(-stderrUnitsMax)
        })
        // Helpers that outlive the server would hold its pipes open, and "close" would never come.
        listen(started, 'exit', report, () => endGroup(started, clock))
        ended = new Promise((done) =>
          listen(started, 'close', report, () => {
            done()
            transport.onclose?.()
          }),
        )
      }),
    send: (message) =>
      new Promise((resolve, reject) => {
        if (child === null || !child.stdin.writable) return reject(new Error('the process has ended'))
        child.stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()))
      }),
    async close() {
      const closing = child
      if (closing?.pid === undefined) return
      closing.stdin.end()
      if (await within(ended, stopMsMax, clock)) return
      signalGroup(closing, 'SIGTERM')
      if (await within(ended, stopMsMax, clock)) return
      signalGroup(closing, 'SIGKILL')
      await within(ended, stopMsMax, clock)
    },
    stderr: () => stderr.trim(),
  }
  return transport
}

/** What is left of the group after its leader has ended. */
async function endGroup(child: ChildProcessWithoutNullStreams, clock: Clock): Promise<void> {
  if (!grouped || !signalGroup(child, 'SIGTERM')) return
  await clock.sleep(stopMsMax)
  signalGroup(child, 'SIGKILL')
}

/** False where there is nothing left to signal. */
function signalGroup(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): boolean {
  if (child.pid === undefined) return false
  try {
    return process.kill(grouped ? -child.pid : child.pid, signal)
  } catch (error) {
    // ESRCH: nobody is left. EPERM: what is left has changed its user and is out of our reach.
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

/** Whether the promise settles in time. */
export async function within(promise: Promise<unknown>, ms: number, clock: Clock): Promise<boolean> {
  const stop = new AbortController()
  const settled = Promise.allSettled([promise]).then(() => true)
  const late = Promise.allSettled([clock.sleep(ms, stop.signal)]).then(() => false)
  const inTime = await Promise.race([settled, late])
  stop.abort()
  return inTime
}
