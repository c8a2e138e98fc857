/** `tieline trust`, and the question on a terminal. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { cli, json, patience, start } from '../kits/cli.ts'
import { cwd, env, evilUrl, expectNothing, hostile, planted, put, ran, run } from '../kits/planted.ts'

vi.setConfig(patience)

test('trust shows what the file could do, lists what was agreed to, and takes it back', async () => {
  put(hostile())
  expect(json(await run('trust', '--yes', '--json'))).toEqual({
    file: join(cwd, 'tieline.toml'),
    trusted: true,
    changed: true,
    runs: [
      `agent helper: touch ${ran} (MCP server x)`,
      'agent helper: any command that its model chooses (shell)',
    ],
    sends: [`provider evil: ${evilUrl}/v1`],
    keys: [planted],
    writes: ['the log: ./planted-data'],
  })
  expect((await run('trust')).out).toContain('is trusted as it is')
  put(`${hostile()}# changed`)
  expect((await run('trust', '--list')).out).toMatch(/changed {2}\S+tieline.toml/)
  expect((await run('trust', '--revoke')).out).toContain('is not trusted any more')
  expect((await run('trust', '--revoke')).code).toBe(2)
  expectNothing()
})

test('a process with the token of a session or turn cannot agree, whatever flags it has', async () => {
  put(hostile())
  for (const token of ['tlt_turn_1.abcdefgh', 'tls_ses_1.abcdefgh']) {
    const started = start(cwd, ['trust', '--yes'], { TIELINE_TOKEN: token })
    started.child.stdin.end()
    expect(await started.ended).toMatchObject({ code: 2, err: expect.stringContaining('an agent cannot') })
  }
  expect(json<{ trusted: unknown[] }>(await run('trust', '--list', '--json')).trusted).toEqual([])
})

test('what init wrote needs no question', async () => {
  expect((await cli(cwd, 'init', '--starter', '--client', 'claude', '--yes')).code).toBe(0)
  const { err, out } = await cli(cwd, 'doctor')
  expect(`${out}${err}`).toContain('tieline.toml, 2 agents')
  expect(`${out}${err}`).not.toContain('is not used')
})

test('a file that is named needs no agreement', async () => {
  put('[agents.helper]\ndriver = "scripted"\nscript = [{ say = "hi" }]\n[server]\ndataDir = "./d"\n')
  expect((await run('run', 'hello', '--config', 'tieline.toml')).out).toContain('hi')
  const started = start(cwd, ['run', 'hello'], { ...env, TIELINE_CONFIG: 'tieline.toml' })
  started.child.stdin.end()
  expect((await started.ended).out).toContain('hi')
})

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** On a terminal, by the program `script`, which gives it one. */
function onTerminal(answer: string, ...args: string[]): Promise<{ code: number | null; out: string }> {
  const command = [process.execPath, main, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd,
    env: {
      ...process.env,
      ...env,
      HOME: cwd,
      XDG_CONFIG_HOME: join(cwd, 'xdg'),
      TERM: 'dumb',
      NODE_OPTIONS: '',
    },
  })
  let out = ''
  let answered = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (!answered && out.includes('[y/N]')) {
      answered = true
      child.stdin.write(`${answer}\r`)
    }
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out })))
}

test.skipIf(!existsSync('/usr/bin/script'))(
  'on a terminal the question comes on the spot, once (needs the program "script")',
  async () => {
    put('[agents.helper]\ndriver = "scripted"\ntools = ["shell"]\nscript = [{ say = "hi there" }]\n')
    const no = await onTerminal('n', 'run', 'hello')
    expect(no.out).toContain('It could run:')
    expect(no.out).toContain('any command that its script chooses (shell)')
    expect(no.out).toContain('It could send to: nothing')
    expect(no.out).toContain('not covered')
    expect(no.code).toBe(1)
    const yes = await onTerminal('y', 'run', 'hello')
    expect([yes.code, yes.out]).toEqual([0, expect.stringContaining('hi there')])
    const again = await onTerminal('n', 'run', 'hello')
    expect([again.code, again.out.includes('[y/N]')]).toEqual([0, false])
  },
)
