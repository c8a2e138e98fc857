import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../kits/http.ts'
import { noSandbox, openPrison } from '../kits/sandbox.ts'

/** The process itself, not one that has these words among its arguments. */
const runs = (text: string): boolean =>
  execFileSync('ps', ['axo', 'args'])
    .toString()
    .split('\n')
    .some((line) => line.trim() === text)

/** Processes of a command that gets its own session, and leaves its parent. */
const escape = (seconds: number): string => `setsid sh -c 'sleep ${seconds} & wait' & sleep ${seconds}`

const server = (command: string, sandbox: string): ChildProcess => {
  const worker = join(import.meta.dirname, '../kits/kill-shell-worker.ts')
  const cwd = mkdtempSync(join(tmpdir(), 'tieline-kill-'))
  const started = spawn(process.execPath, [worker, cwd, command, sandbox], { stdio: 'ignore' })
  onTestFinished(() => void started.kill('SIGKILL'))
  return started
}

describe.skipIf(process.platform !== 'linux')('without a sandbox', () => {
  test('a setsid child outlived its deadline: it ends with the command', async () => {
    const { run } = await openPrison('[server]\nsandbox = "off"\n')
    const ran = run(escape(4443), 1)
    await until(() => runs('sleep 4443'))
    expect(await ran).toMatchObject({ timed_out: true })
    await until(() => !runs('sleep 4443'))
  })

  test('after kill -9 of the server a running command went on: it ends with the server', async () => {
    const killed = server('sleep 4444', 'off')
    await until(() => runs('sleep 4444'))
    killed.kill('SIGKILL')
    await until(() => !runs('sleep 4444'))
  })
})

describe.skipIf(noSandbox)('everything in a sandbox ends', () => {
  test('a setsid child outlived its deadline: it ends with the command', async () => {
    const { run } = await openPrison()
    const ran = run(escape(4441), 1)
    await until(() => runs('sleep 4441'))
    expect(await ran).toMatchObject({ timed_out: true })
    await until(() => !runs('sleep 4441'))
  })

  test('after kill -9 of the server a running command went on: it ends with the server', async () => {
    const killed = server(escape(4442), 'required')
    await until(() => runs('sleep 4442'))
    killed.kill('SIGKILL')
    await until(() => !runs('sleep 4442'))
  })

  test('a command has the network that is configured: none at all, and no proxy', async () => {
    const { run, variables } = await openPrison('[sandbox]\nnetwork = "none"\n')
    const { stdout } = await run(
      `echo "proxy: \${HTTP_PROXY:-none}"; curl -sS -m 5 -p -x $TIELINE_SERVER http://192.0.2.1/ 2>&1`,
    )
    expect(stdout).toContain('proxy: none')
    expect(stdout).toContain('403')
    expect(variables['SERVER_PID']).toBe(String(process.pid))
  })
})
