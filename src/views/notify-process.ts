/** Runs the user's command for notifications: without a shell, without secrets, and not for long. */
import { spawn } from 'node:child_process'
import { homedir } from 'node:os'
import { faultMessage, listen } from '../model/contained.ts'
import type { Clock } from '../runtime/kernel/ports.ts'

const timeoutMs = 10_000
/** What a desktop needs to show something; no keys and no tokens. */
const passedOn = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TMPDIR',
  'USER',
  'SHELL',
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'XAUTHORITY',
  'XDG_RUNTIME_DIR',
  'DBUS_SESSION_BUS_ADDRESS',
]

type Env = Readonly<Record<string, string | undefined>>

/** Null, or why it failed. */
export const runNotify =
  (clock: Pick<Clock, 'sleep'>, env: Env) =>
  async (command: readonly string[], signal: AbortSignal): Promise<string | null> => {
    const [program = '', ...args] = command
    const ended = new AbortController()
    // Detached makes it the leader of its own group, so that what it starts ends with it.
    const child = spawn(program, args, {
      cwd: homedir(),
      env: Object.fromEntries(
        passedOn.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
      ),
      stdio: 'ignore',
      detached: true,
    })
    const end = new Promise<string | null>((resolve) => {
      const broke = (fault: unknown): void =>
        resolve(`"${program}" could not be started: ${faultMessage(fault)}`)
      listen(child, 'error', broke, broke)
      listen(child, 'exit', broke, (code: number | null, killed: string | null) =>
        resolve(code === 0 ? null : `"${program}" ended with ${killed ?? `exit code ${code}`}`),
      )
    })
    const limit = clock.sleep(timeoutMs, AbortSignal.any([signal, ended.signal])).then(
      () => `"${program}" was stopped after ${timeoutMs / 1000} s`,
      () => (signal.aborted ? null : end),
    )
    const why = await Promise.race([end, limit])
    ended.abort()
    endGroup(child.pid)
    return why
  }

function endGroup(group: number | undefined): void {
  if (group === undefined) return
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // Nobody is left in it.
  }
}
