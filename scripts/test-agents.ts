/**
 * `npm run test:agents`: runs other programs against a real server of ours: the MCP conformance suite, the
 * MCP Inspector, and Claude Code with a scripted model. Once they are installed, only loopback is used.
 */
import { exchangeOf } from '../test/kits/askers.ts'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { openServer, type OpenServer } from '../src/open-server.ts'
import { fakeModel, type FakeModel } from '../test/kits/fake-model.ts'
import { mcpFixtures } from '../test/mcp/fixtures.ts'
import { installPackage } from './agents/install.ts'

const runMsMax = 60_000
const secret = 'tangerine'
const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))
const expectedFailures = fileURLToPath(new URL('../test/mcp/expected-failures.yml', import.meta.url))

type Ran = { code: number | null; out: string; err: string }
type World = { served: OpenServer; fake: FakeModel; home: string }
type Check = { name: string; run: (world: World) => Promise<string> }

/** Runs a program to its end in an empty home. Kills it and its children if it takes too long. */
function run(world: World, args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...args], {
      cwd: world.home,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '', HOME: world.home, TERM: 'dumb', NO_COLOR: '1', ...env },
    })
    const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), runMsMax)
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, out, err })
    })
  })
}

function expectThat(holds: boolean, what: string, { code, out, err }: Ran): void {
  if (!holds) throw new Error(`${what} (exit code ${code})\n${`${out}\n${err}`.trim().slice(-3000)}`)
}

/** The suite exits with 0 only if exactly the expected failures fail. */
function checkConformance(version: string, ...args: string[]): Check {
  return {
    name: `MCP conformance ${version} ${args.join(' ')}`.trim(),
    async run(world) {
      const suite = join(installPackage('@modelcontextprotocol/conformance', version), 'dist', 'index.js')
      const ran = await run(world, [
        suite,
        'server',
        '--url',
        `${world.served.url}/mcp`,
        '--expected-failures',
        expectedFailures,
        '-o',
        join(world.home, `conformance-${version}`),
        ...args,
      ])
      const lines = stripVTControlCharacters(ran.out).split('\n')
      expectThat(
        ran.code === 0 && lines.some((line) => line.includes('Baseline check passed')),
        'a scenario failed unexpectedly, or passed although it is listed as failing',
        ran,
      )
      const absent = lines.flatMap((line) => /^ {2}~ ([^:]+)/.exec(line)?.[1] ?? [])
      const passed = lines
        .flatMap((line) => /^✓ (\S+): [1-9]\d* passed/.exec(line)?.[1] ?? [])
        .filter((scenario) => !absent.includes(scenario))
      expectThat(passed.length >= 14, `only ${passed.length} scenarios passed`, ran)
      return `${passed.length} scenarios pass, ${new Set(absent).size} ask for what is not offered`
    },
  }
}

const locateInspector = (): string =>
  join(
    installPackage('@modelcontextprotocol/inspector', '2.12.0'),
    'clients',
    'launcher',
    'build',
    'index.js',
  )
const ourProcess = (world: World): string[] => [main, 'mcp', '--data-dir', world.served.dataDir]

const checkInspectorList: Check = {
  name: 'MCP Inspector 2.12.0 lists the tools, strictly',
  async run(world) {
    const ran = await run(world, [
      locateInspector(),
      '--cli',
      `${world.served.url}/mcp`,
      '--transport',
      'http',
      '--method',
      'tools/list',
      '--strict',
    ])
    expectThat(ran.code === 0, 'the list is not portable', ran)
    const { tools } = JSON.parse(ran.out) as { tools: { name: string; outputSchema?: object }[] }
    expectThat(
      tools.some((tool) => tool.name === 'sub_agent' && tool.outputSchema !== undefined),
      'sub_agent is not there',
      ran,
    )
    return `${tools.filter((tool) => tool.outputSchema !== undefined).length} tools`
  },
}

const checkInspectorCall = (how: string, target: (world: World) => string[]): Check => ({
  name: `MCP Inspector 2.12.0 calls sub_agent ${how}`,
  async run(world) {
    const ran = await run(world, [
      locateInspector(),
      '--cli',
      ...target(world),
      '--method',
      'tools/call',
      '--tool-name',
      'sub_agent',
      '--tool-arg',
      'agent_name=coder',
      '--tool-arg',
      'task=Say the secret word',
    ])
    expectThat(ran.code === 0 && ran.out.includes(secret), 'the answer did not come', ran)
    return 'answered'
  },
})

const checkClaude = (how: string, entry: (world: World) => object): Check => ({
  name: `Claude Code 2.1.325 calls sub_agent ${how}`,
  async run(world) {
    const { fake, served, home } = world
    const program = join(installPackage('@anthropic-ai/claude-code', '2.1.325'), 'cli-wrapper.cjs')
    const config = join(home, `mcp-${how.replaceAll(' ', '-')}.json`)
    writeFileSync(config, JSON.stringify({ mcpServers: { tieline: entry(world) } }))
    const [requestsBefore, callsBefore] = [
      fake.requests.length,
      (await exchangeOf(served.line.desks).calls({ session: null, limit: 100 })).length,
    ]
    const ran = await run(
      world,
      [
        program,
        '-p',
        'Ask coder for the secret word',
        '--mcp-config',
        config,
        '--strict-mcp-config',
        '--allowedTools',
        'mcp__tieline',
      ],
      {
        ANTHROPIC_BASE_URL: fake.url.replace(/\/v1$/, ''),
        ANTHROPIC_API_KEY: 'dummy',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    )
    expectThat(
      ran.code === 0 && ran.out.includes(`Coder said ${secret}`),
      'it did not answer with the result',
      ran,
    )
    const shown = fake.requests
      .slice(requestsBefore)
      .flatMap(({ body }) =>
        Array.isArray(body['tools']) ? (body['tools'] as { name: string }[]).map((tool) => tool.name) : [],
      )
    expectThat(shown.includes('mcp__tieline__sub_agent'), 'the tool was hidden from the model', ran)
    const calls = await exchangeOf(served.line.desks).calls({ session: null, limit: 100 })
    const [newest] = calls
    const record = newest === undefined ? null : await exchangeOf(served.line.desks).call(newest.call)
    expectThat(
      calls.length === callsBefore + 1 &&
        record?.success === true &&
        record.callerSession.includes('claude-code'),
      'the call is not in the log as a call of Claude Code',
      ran,
    )
    return `answered; called as ${record?.callerSession ?? ''}`
  },
})

const checks: readonly Check[] = [
  checkConformance('0.1.16'),
  checkConformance('0.2.0-alpha.12', '--requirements', '2025-11-25'),
  checkConformance('0.2.0-alpha.12', '--requirements', '2026-07-28'),
  checkInspectorList,
  checkInspectorCall('over HTTP', ({ served }) => [`${served.url}/mcp`, '--transport', 'http']),
  checkInspectorCall('over stdio', (world) => [
    process.execPath,
    ...ourProcess(world),
    '--transport',
    'stdio',
  ]),
  checkClaude('over HTTP', ({ served }) => ({ type: 'http', url: `${served.url}/mcp` })),
  checkClaude('over stdio', (world) => ({
    type: 'stdio',
    command: process.execPath,
    args: ourProcess(world),
  })),
]

async function open(home: string): Promise<World> {
  // The configuration of the user who runs this must not change what is tested.
  process.env['XDG_CONFIG_HOME'] = home
  for (const name of Object.keys(process.env).filter(
    (key) => key.startsWith('TIELINE_') && key !== 'TIELINE_AGENTS_CACHE',
  ))
    delete process.env[name]
  const fake = await fakeModel([
    { when: { result: secret }, text: `Coder said ${secret}.` },
    {
      when: { user: 'Ask coder for the secret word', results: 0 },
      tools: [
        { name: 'mcp__tieline__sub_agent', input: { agent_name: 'coder', task: 'Say the secret word' } },
      ],
    },
    { text: 'ok' },
  ])
  const served = await openServer({
    agents: {
      coder: { description: 'Knows the secret word', script: () => `The secret word is ${secret}.` },
    },
    dataDir: join(home, 'data'),
    cwd: home,
    port: 0,
    mcpFixtures,
    onWarning: (text) => console.error(text),
  })
  return { served, fake, home }
}

async function runAll(): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'tieline-agents-'))
  const world = await open(home)
  const beganAt = Date.now()
  let failed = 0
  try {
    for (const { name, run: check } of checks) {
      try {
        console.log(`ok   ${name}: ${await check(world)}`)
      } catch (error) {
        failed += 1
        console.log(`FAIL ${name}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  } finally {
    await world.served.close()
    await world.fake.close()
    rmSync(home, { recursive: true, force: true })
  }
  console.log(
    `${checks.length - failed} of ${checks.length} checks passed, in ${Math.round((Date.now() - beganAt) / 1000)} s`,
  )
  return failed === 0 ? 0 : 1
}

process.exitCode = await runAll()
