/** `[notify] command` of a real server: the user's own file only, without the secrets of the environment. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { openServer } from '../../src/open-server.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { runNotify } from '../../src/views/notify-process.ts'
import { trustText } from '../kits/trust.ts'

const command = (out: string): string =>
  `[notify]\ncommand = ["sh", "-c", 'env >> ${out}; echo "$1" >> ${out}', "ring", "{title}"]\n`

test('the command of the own file runs without keys; the one of a project never does', async () => {
  const home = mkdtempSync(join(tmpdir(), 'tieline-notify-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const [project, own] = [join(home, 'project'), join(home, '.config', 'tieline')]
  for (const directory of [project, own]) mkdirSync(directory, { recursive: true })
  const [rang, evil] = [join(home, 'rang'), join(home, 'evil')]
  writeFileSync(join(own, 'tieline.toml'), command(rang))
  writeFileSync(join(project, 'tieline.toml'), command(evil))
  const env = { PATH: process.env['PATH'], HOME: home }
  trustText(env, home, join(project, 'tieline.toml'), command(evil))
  vi.stubEnv('SOME_API_KEY', 'sk-something-private-0123456789')
  onTestFinished(() => void vi.unstubAllEnvs())
  const served = await openServer({
    loaded: await loadConfig({ cwd: project, env, home }),
    agents: { coder: { script: () => Promise.reject(new Error('no')) } },
    dataDir: join(home, 'data'),
    port: 0,
    onWarning: () => undefined,
  })
  onTestFinished(() => served.close())
  await served.line.run('coder', 'Build it')
  await expect.poll(() => readText(rang)).toContain('Build it: failed')
  expect(readText(rang)).toContain('PATH=')
  expect(readText(rang)).not.toContain('SOME_API_KEY')
  expect(readText(evil)).toBe('')
})

test('a command that does not end is stopped with all that it started, and a missing one says so', async () => {
  const clock = { sleep: async () => undefined }
  const { signal } = new AbortController()
  expect(await runNotify(clock, process.env)(['sleep', '60'], signal)).toBe('"sleep" was stopped after 10 s')
  const run = runNotify(systemClock, process.env)
  expect(await run(['no-such-program'], signal)).toContain('could not be started')
  expect(await run(['false'], signal)).toBe('"false" ended with exit code 1')
  expect(await run(['true'], signal)).toBeNull()
})

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // It has not been written.
    return ''
  }
}
