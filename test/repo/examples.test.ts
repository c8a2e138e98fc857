/**
 * Everything that the documents tell people to run, run as they would: in a process of its own, without a
 * terminal.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test, vi } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const examples = (await readdir(join(root, 'examples'))).filter((name) => name.endsWith('.ts'))
const garbage: string[] = []
afterAll(() => Promise.all(garbage.map((path) => rm(path, { recursive: true, force: true }))))

/** Where each entry point of the package has its source. */
const sources = {
  tieline: 'src/index.ts',
  'tieline/client': 'src/client/index.ts',
  'tieline/server': 'src/server/index.ts',
}

/** A loaded machine may take its time to start a process. */
const timeoutMs = 300_000
vi.setConfig({ testTimeout: timeoutMs })

type Ended = { code: number; stdout: string; stderr: string }

/** With the Node that runs the tests; what it was told about colours and terminals is left out. */
function node(...args: string[]): Promise<Ended> {
  const { FORCE_COLOR: _colour, NODE_OPTIONS: _options, ...env } = process.env
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd: root, env: { ...env, NO_COLOR: '1' }, timeout: timeoutMs },
      (error, stdout, stderr) => {
        resolve({
          code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1,
          stdout,
          stderr,
        })
      },
    )
  })
}
const cli = (...args: string[]): Promise<Ended> => node('src/cli/main.ts', ...args)

async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tieline-test-'))
  garbage.push(directory)
  return directory
}

test.each(examples)('examples/%s asserts what it shows', async (name) => {
  expect(await node(join('examples', name))).toMatchObject({ code: 0, stderr: '' })
})

test('the code of the README runs as it stands there', async () => {
  const snippets = [
    ...(await readFile(join(root, 'README.md'), 'utf8')).matchAll(/```ts\n([\s\S]*?)```/g),
  ].map((match) => match[1] ?? '')
  expect(snippets.length).toBeGreaterThan(0)
  const directory = await scratch()
  for (const [index, snippet] of snippets.entries()) {
    const file = join(directory, `snippet-${index}.ts`)
    const text = Object.entries(sources).reduce(
      (code, [name, path]) => code.replaceAll(`'${name}'`, `'${pathToFileURL(join(root, path)).href}'`),
      snippet,
    )
    await writeFile(file, text)
    expect(await node(file)).toMatchObject({ code: 0, stderr: '' })
  }
})

describe('the demo', () => {
  test('without a terminal shows its calls as lines, leaves real files, and measures its overhead', async () => {
    const { code, stdout, stderr } = await cli('demo')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const workspace = /^Workspace\s+(.+)$/m.exec(stdout)?.[1] ?? ''
    garbage.push(dirname(workspace))
    expect(stdout).toMatch(/^planner calling coder with task: Write slugify\.mjs/m)
    expect(stdout).toMatch(
      /^coder returned: SUCCESS \(\d+ tokens, \d+s\)\n {2}Tools used: write, shell, edit$/m,
    )
    expect(stdout).toMatch(/^reviewer returned: SUCCESS \(\d+ tokens, \d+s\)\n {2}Tools used: read, shell$/m)
    expect(stdout).not.toContain('\u001b')
    expect(
      Number(
        /^Overhead\s+([+-]?[\d.]+) %: [\d,]+ tokens by three agents, [\d,]+ by one agent alone$/m.exec(
          stdout,
        )?.[1],
      ),
    ).toBeLessThan(20)
    expect((await readdir(workspace)).toSorted()).toEqual(['SPEC.md', 'slugify.mjs', 'slugify.test.mjs'])
    expect(await node('--test', join(workspace, 'slugify.test.mjs'))).toMatchObject({ code: 0 })
  })

  test('with --json prints one object, in which the failure was real and the review is structured', async () => {
    const { code, stdout } = await cli('demo', '--json')
    expect(code).toBe(0)
    const report = JSON.parse(stdout) as {
      workspace: string
      review: unknown
      tokensUsed: number
      alone: { tokensUsed: number }
      overheadPercent: number
      calls: { agent: string; outcome: string; toolCalls: string[] }[]
    }
    garbage.push(dirname(report.workspace))
    expect(report.review).toEqual({ approved: true, exit_code: 0, remarks: expect.any(Array) as unknown })
    expect(report.calls.map(({ agent, outcome, toolCalls }) => [agent, outcome, toolCalls])).toEqual([
      ['coder', 'completed', ['write', 'shell', 'edit']],
      ['reviewer', 'completed', ['read', 'shell']],
    ])
    expect(report.overheadPercent).toBeCloseTo(
      ((report.tokensUsed - report.alone.tokensUsed) / report.alone.tokensUsed) * 100,
      0,
    )
  })
})

describe('tieline run', () => {
  const config = [
    '[agents.boss]',
    'driver = "scripted"',
    'tools = ["sub_agent"]',
    'allowSubAgentCalls = true',
    '[[agents.boss.script]]',
    'when = { iteration = 1 }',
    'tools = [{ name = "sub_agent", input = { agent_name = "helper", task = "Now: {{task}}" } }]',
    '[[agents.boss.script]]',
    'say = "{{result.output}}"',
    '[agents.helper]',
    'driver = "scripted"',
    '[[agents.helper.script]]',
    'when = { task = "Go." }',
    'say = "hello 世界"',
    '[[agents.helper.script]]',
    'hang = true',
  ].join('\n')

  test('prints the output on stdout and the calls on stderr, and is 0 only on success', async () => {
    const directory = await scratch()
    await writeFile(join(directory, 'tieline.toml'), config)
    const flags = [
      '--config',
      join(directory, 'tieline.toml'),
      '--data-dir',
      join(directory, 'data'),
      '--cwd',
      directory,
    ]
    expect(await cli('run', 'Go.', ...flags)).toEqual({
      code: 0,
      stdout: 'hello 世界\n',
      stderr: expect.stringMatching(
        /^boss calling helper with task: Now: Go\.\nhelper returned: SUCCESS \(\d+ tokens, 0s\)\nflow \w+ .*\n$/,
      ) as unknown,
    })
    expect(await cli('run', 'Go.', ...flags, '--quiet')).toEqual({
      code: 0,
      stdout: 'hello 世界\n',
      stderr: '',
    })
    expect(JSON.parse((await cli('run', 'Go.', ...flags, '--json')).stdout)).toMatchObject({
      success: true,
      calls: [{ caller: 'boss', agent: 'helper', outcome: 'completed' }],
    })
    expect(await cli('run', 'Wait.', ...flags, '--agent', 'helper', '--timeout', '0.2')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('helper: timed out') as unknown,
    })
    expect(await cli('run', 'Go.', ...flags, '--agent', 'nobody')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Known agents: boss, helper') as unknown,
    })
  })

  test('Ctrl-C cancels the whole tree and exits with 130', async () => {
    const directory = await scratch()
    await writeFile(join(directory, 'tieline.toml'), config)
    const child = spawn(
      process.execPath,
      [
        'src/cli/main.ts',
        'run',
        'Wait.',
        '--config',
        join(directory, 'tieline.toml'),
        '--data-dir',
        join(directory, 'data'),
      ],
      { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
      if (text.includes('calling helper')) child.kill('SIGINT')
    })
    const [code] = (await once(child, 'close')) as [number]
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringMatching(/helper returned: FAILED[\s\S]*tieline: boss: cancelled/) as unknown,
    })
  })

  test('a mistake is told in one line with exit code 2', async () => {
    expect(await cli('demmo')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'tieline: unknown command "demmo"; the nearest known one is "demo". See "tieline --help".\n',
    })
    expect(await cli('run', 'x', '--timeout', 'soon')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a number of seconds above 0 is needed') as unknown,
    })
    expect(await cli('run', 'x', '--config', join(await scratch(), 'no.toml'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no such file') as unknown,
    })
  })
})
