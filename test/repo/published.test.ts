/**
 * The package as it is published. Unpacked in an empty folder without anything that it depends on, the command
 * line is whole and finds its own files. Installed in a fresh project, a program compiles against its types and
 * runs.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { garbage, patience } from '../kits/cli.ts'
import { PublicNames } from '../kits/public-names.ts'

vi.setConfig(patience)

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const place = mkdtempSync(join(tmpdir(), 'tieline-published-'))
garbage.push(place)
const [work, program] = [join(place, 'work'), join(place, 'package', 'bin', 'tieline.js')]
const env = {
  PATH: process.env['PATH'],
  HOME: place,
  NO_COLOR: '1',
  TIELINE_CONFIG: join(work, 'tieline.json'),
}

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
  // A build on a machine that others use takes minutes.
}, 600_000)

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

describe('a fresh project', () => {
  const project = join(place, 'project')
  const installed = join(project, 'node_modules', 'tieline')

  beforeAll(() => {
    cpSync(fileURLToPath(new URL('fresh-project', import.meta.url)), project, { recursive: true })
    cpSync(join(place, 'package'), installed, { recursive: true })
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
    // Only what an install would bring, so that a type of a development dependency is missed here too.
    for (const name of [...Object.keys(readManifest(installed).dependencies), '@types/node']) {
      const link = join(project, 'node_modules', name)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), link)
    }
  })

  test('a program that uses all four entry points compiles with skipLibCheck off, and runs', async () => {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const said = await run(process.execPath, [tsc, '-p', project], { cwd: project }).catch(
      (failed: { stdout: string }) => failed,
    )
    // Other packages answer for their own types.
    const problems = said.stdout.match(/^\S+\(\d+,\d+\): .*$/gm) ?? []
    expect(problems.filter((line) => !/node_modules\/(?!tieline\/)/.test(line))).toEqual([])
    const { stdout } = await run(process.execPath, [join(project, 'built', 'program.js')], {
      cwd: project,
      env,
    })
    expect(JSON.parse(stdout)).toEqual({
      record: 'heard: call me',
      line: 'agent agents call calls close idle log mail onDelta questions run running sessions'.split(' '),
    })
  })

  test('everything that the types of an entry point mention can be imported from it', () => {
    const names = new PublicNames(installed)
    const entries = Object.entries(readManifest(installed).exports).map(([path, { types }]) => ({
      path,
      types,
    }))
    expect(entries.map(({ path }) => path)).toEqual(['.', './client', './server', './opencode'])
    const [library = { types: '' }] = entries
    for (const { path, types } of entries) {
      // What a server mentions of its line is exported by `tieline` itself.
      const also = path === './server' ? [types, library.types] : [types]
      expect({ path, hidden: names.findHidden(types, also) }).toEqual({ path, hidden: [] })
    }
  })
})

test('a type that is mentioned and not exported is found, and so is a file that is missing', () => {
  const planted = join(place, 'planted')
  mkdirSync(planted)
  const write = (name: string, text: string): void => writeFileSync(join(planted, name), text)
  write('index.d.ts', "export { open, type Door } from './door.ts'\nexport type { Own } from './own.ts'")
  write(
    'door.d.ts',
    "import type { Key } from './key.ts'\nimport type { Own as Mine } from './own.ts'\ntype Local = string\n" +
      'export type Door<T> = { key: Key | T; local: Local; self: Door<T>; mine: Mine }\n' +
      "export declare function open(lock: import('./key.ts').Lock): Door<string>",
  )
  write('key.d.ts', 'export type Key = 1\nexport type Lock = 2')
  write('own.d.ts', "import type { Gone } from './gone.ts'\nexport type Own = { gone: Gone }")
  expect(() => new PublicNames(planted).findHidden('index.d.ts')).toThrow('gone.d.ts')
  write('own.d.ts', 'export type Own = Date')
  expect(new PublicNames(planted).findHidden('index.d.ts')).toEqual([
    'Door mentions door.d.ts#Local',
    'Door mentions key.d.ts#Key',
    'open mentions key.d.ts#Lock',
  ])
})

type Manifest = { dependencies: Record<string, string>; exports: Record<string, { types: string }> }

const readManifest = (directory: string): Manifest =>
  JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest
