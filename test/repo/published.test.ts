/**
 * The package as it is published, unpacked in an empty folder without anything that it depends on: the
 * command line is whole, and finds its own files.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test, vi } from 'vitest'
import { garbage, patience } from '../kits/cli.ts'

vi.setConfig(patience)

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const place = mkdtempSync(join(tmpdir(), 'tieline-published-'))
garbage.push(place)
const [work, program] = [join(place, 'work'), join(place, 'package', 'bin', 'tieline.js')]
const env = { PATH: process.env['PATH'], HOME: place, NO_COLOR: '1' }

beforeAll(async () => {
  await run('npm', ['run', '--silent', 'build'], { cwd: root })
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', place], { cwd: root })
  await run('tar', ['-xzf', readdirSync(place).find((name) => name.endsWith('.tgz')) ?? ''], { cwd: place })
  mkdirSync(work)
  writeFileSync(join(work, 'needle.txt'), 'hay\nneedle\n')
  writeFileSync(
    join(work, 'tieline.json'),
    JSON.stringify({
      server: { dataDir: './data', port: 0 },
      agents: {
        finder: {
          driver: 'scripted',
          tools: ['search'],
          script: [
            { when: { iteration: 1 }, tools: [{ name: 'search', input: { pattern: 'needle' } }] },
            { say: 'found {{result}}' },
          ],
        },
      },
    }),
  )
})

test('a call with a tool that has a thread of its own', async () => {
  const { stdout } = await run(process.execPath, [program, 'call', 'finder', 'look', '--json'], {
    cwd: work,
    env,
  })
  expect(JSON.parse(stdout)).toMatchObject({ output: expect.stringContaining('needle.txt') as unknown })
})

test('the server with its page and the description of its API', async () => {
  const child = spawn(process.execPath, [program, 'serve', '--json'], {
    cwd: work,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [said] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
    const { url } = JSON.parse(said) as { url: string }
    const text = async (path: string): Promise<string> => (await fetch(`${url}${path}`)).text()
    expect(await text('/health')).toContain('"ok"')
    expect(await text('/')).toContain('<div id="page">')
    expect(await text('/openapi.json')).toContain('/api/sessions')
    expect(await text('/docs/swagger-ui-bundle.js')).toContain('SwaggerUIBundle')
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
})

test('an older Node says what is needed, or hands over to the one that npm has put beside it', async () => {
  const pretend =
    'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.1.2" } })'
  const older = `data:text/javascript,${pretend}`
  const asked = (): Promise<{ stdout: string }> =>
    run(process.execPath, ['--import', older, program, '--version'], { cwd: work, env })
  await expect(asked()).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('tieline needs Node 24.15 or newer, and this is 20.1.2') as unknown,
  })
  const beside = join(place, 'package', 'node_modules', 'node', 'bin')
  mkdirSync(beside, { recursive: true })
  symlinkSync(process.execPath, join(beside, 'node'))
  expect((await asked()).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})
