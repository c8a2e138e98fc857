/** Runs a program of the scratch copy with a time limit. What it started ends with it. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

export type Ran = { code: number | null; late: boolean; output: string }

const outputUnitsMax = 200_000

/** Everything that a program starts inherits it, whatever group it is in. */
export const markName = 'TIELINE_MUTANTS_MARK'

/** So long what it wrote may still be on its way when it has ended. */
const graceMs = 1000

/** Time is counted in ticks: while all of this is stopped, none of it is used up. */
export const tickMs = 250

export function runProgram(
  cwd: string,
  args: readonly string[],
  msMax: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const mark = randomUUID()
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd,
      detached: true,
      env: { ...process.env, NO_COLOR: '1', CI: '1', ...env, [markName]: mark },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const endAll = (): void => {
      endGroup(child.pid)
      endMarked(mark)
    }
    let output = ''
    let ticks = 0
    const isLate = (): boolean => ticks * tickMs >= msMax
    const take = (chunk: Buffer): void =>
      void (output = (output + chunk.toString('utf8')).slice(-outputUnitsMax))
    const timer = setInterval(() => {
      ticks++
      if (isLate()) endAll()
    }, tickMs)
    process.once('exit', endAll)
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.on('error', reject)
    child.on('exit', () => {
      clearInterval(timer)
      endAll()
      // Who left its group and its environment behind may keep the pipes open for ever.
      setTimeout(() => [child.stdout, child.stderr].forEach((pipe) => pipe.destroy()), graceMs)
    })
    child.on('close', (code) => {
      process.off('exit', endAll)
      resolve({ code, late: isLate(), output })
    })
  })
}

/** A mistake may leave servers behind that nobody waits for. */
function endGroup(pid: number | undefined): void {
  if (pid !== undefined) end(-pid)
}

/** Servers that tests start are in groups of their own. Where there is no /proc, nothing is found. */
export function endMarked(mark: string): void {
  for (const pid of listProcesses()) if (isMarked(pid, mark)) end(Number(pid))
}

function listProcesses(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

function isMarked(pid: string, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`${markName}=${mark}`)
  } catch {
    return false
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
