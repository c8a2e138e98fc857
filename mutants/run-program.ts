/** Runs a program of the scratch copy with a time limit. What it started ends with it. */
import { spawn } from 'node:child_process'

export type Ran = { code: number | null; late: boolean; output: string }

const outputUnitsMax = 200_000

export function runProgram(
  cwd: string,
  args: readonly string[],
  msMax: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd,
      detached: true,
      env: { ...process.env, NO_COLOR: '1', CI: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    let late = false
    const take = (chunk: Buffer): void =>
      void (output = (output + chunk.toString('utf8')).slice(-outputUnitsMax))
    const timer = setTimeout(() => {
      late = true
      endGroup(child.pid)
    }, msMax)
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      endGroup(child.pid)
      resolve({ code, late, output })
    })
  })
}

/** A mistake may leave servers behind that nobody waits for. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended already.
  }
}
