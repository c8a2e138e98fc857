/** Runs an agent program in a home of its own, as a user's shell would, and ends all that it started. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AgentPlace, AgentProgram } from './programs.ts'

const projectRoot = fileURLToPath(new URL('../..', import.meta.url))
const runMsMax = 90_000

export type Ran = { code: number | null; out: string; err: string; ms: number }
export type Running = {
  child: ChildProcess
  /** Settles when it and all that holds its output has ended. */
  ended: Promise<Ran>
  /** To the whole group: shims leave their native child behind otherwise. */
  signal(name: NodeJS.Signals): void
}

/** Builds our program, unless whoever started this has done so. */
export function buildOnce(): void {
  if (process.env['TIELINE_BUILT'] === '1') return
  execFileSync('npm', ['run', '--silent', 'build'], {
    cwd: projectRoot,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Our own program, as `npm run build` made it, on the PATH of that home. */
export function putTieline(home: string): void {
  const file = join(home, 'bin', 'tieline')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(
    file,
    `#!/bin/sh\nexec '${process.execPath}' '${join(projectRoot, 'bin', 'tieline.js')}' "$@"\n`,
  )
  chmodSync(file, 0o755)
}

/** Nothing of the user who runs the tests: no keys, no configuration. */
export const cleanEnv = ({ home }: Pick<AgentPlace, 'home'>): Record<string, string> => ({
  PATH: [join(home, 'bin'), dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
  HOME: home,
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  NO_COLOR: '1',
})

export function startProcess(
  { command, args }: { command: string; args: readonly string[] },
  options: { cwd: string; env: Record<string, string>; msMax?: number },
): Running {
  const beganAt = Date.now()
  const child = spawn(command, [...args], {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const signal = (name: NodeJS.Signals): void => {
    try {
      process.kill(-(child.pid ?? 0), name)
    } catch {
      // It has ended already.
    }
  }
  const timer = setTimeout(() => signal('SIGKILL'), options.msMax ?? runMsMax)
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  const ended = new Promise<Ran>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, out, err, ms: Date.now() - beganAt })
    })
  })
  return { child, ended, signal }
}

/** Asks an agent program one thing in a directory. */
export const askProgram = (
  program: AgentProgram,
  place: AgentPlace,
  directory: string,
  prompt: string,
  env: Record<string, string> = {},
): Running =>
  startProcess(program.ask(prompt), {
    cwd: directory,
    env: { ...cleanEnv(place), ...program.env(place), ...env },
  })
