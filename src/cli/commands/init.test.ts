import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { parse as parseToml } from 'smol-toml'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../config.ts'
import type { CommandInput } from '../command.ts'
import { init, initIn } from './init.ts'
import { mcpClients, chooseProcess, type Surroundings } from '../setup/init-entries.ts'

const own = { node: '/opt/node', script: '/opt/tieline/bin/tieline.js' }

let root: string
let at: Surroundings
let printed: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tieline-init-'))
  at = { cwd: join(root, 'project'), home: join(root, 'home'), env: {} }
  await Promise.all([mkdir(at.cwd), mkdir(at.home)])
  printed = ''
})
afterEach(() => rm(root, { recursive: true }))

type Flags = CommandInput['flags']
const output = { write: (text: string) => ((printed += text), true), on: () => undefined }
const run = (flags: Flags, more: Partial<CommandInput> = {}): Promise<number> =>
  initIn(
    {
      words: [],
      flags,
      env: at.env,
      out: output as unknown as CommandInput['out'],
      err: output as unknown as CommandInput['err'],
      signal: new AbortController().signal,
      ...more,
    },
    at,
    own,
  )

async function put(file: string, text: string): Promise<string> {
  const path = join(root, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}
const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8')
const readJson = async (file: string): Promise<unknown> => JSON.parse(await read(file))

const stdio = { command: '/opt/node', args: ['/opt/tieline/bin/tieline.js', 'mcp'] }

describe('each client gets the entry that it reads, where it reads it', () => {
  test.each([
    ['claude', {}, 'project/.mcp.json', { mcpServers: { tieline: { type: 'stdio', ...stdio } } }],
    ['claude', { user: true }, 'home/.claude.json', { mcpServers: { tieline: { type: 'stdio', ...stdio } } }],
    [
      'opencode',
      {},
      'project/opencode.json',
      { mcp: { tieline: { type: 'local', command: [stdio.command, ...stdio.args], enabled: true } } },
    ],
    [
      'opencode',
      { user: true },
      'home/.config/opencode/opencode.json',
      { mcp: { tieline: { type: 'local', command: [stdio.command, ...stdio.args], enabled: true } } },
    ],
    ['copilot', {}, 'project/.mcp.json', { mcpServers: { tieline: { type: 'stdio', ...stdio } } }],
    [
      'copilot',
      { user: true },
      'home/.copilot/mcp-config.json',
      { mcpServers: { tieline: { type: 'stdio', ...stdio, tools: ['*'] } } },
    ],
    ['gemini', {}, 'project/.gemini/settings.json', { mcpServers: { tieline: stdio } }],
    ['gemini', { user: true }, 'home/.gemini/settings.json', { mcpServers: { tieline: stdio } }],
  ] as const)('%s %j', async (client, flags, file, expected) => {
    expect(await run({ client, yes: true, ...flags })).toBe(0)
    expect(await readJson(file)).toEqual(expected)
  })

  test.each([
    [{}, 'project/.codex/config.toml'],
    [{ user: true }, 'home/.codex/config.toml'],
  ] as const)('codex %j', async (flags, file) => {
    expect(await run({ client: 'codex', yes: true, ...flags })).toBe(0)
    expect(parseToml(await read(file))).toMatchObject({
      mcp_servers: {
        tieline: {
          ...stdio,
          tool_timeout_sec: 310,
          default_tools_approval_mode: 'approve',
          env_vars: expect.arrayContaining(['ANTHROPIC_API_KEY']),
        },
      },
    })
  })

  test('a server that runs elsewhere is reached by its address, with the token in a variable', async () => {
    await run({ client: 'all', yes: true, server: 'https://agents.example' })
    expect(await readJson('project/.mcp.json')).toEqual({
      mcpServers: {
        tieline: {
          type: 'http',
          url: 'https://agents.example/mcp',
          headers: { Authorization: 'Bearer ${TIELINE_TOKEN}' },
        },
      },
    })
    expect(await readJson('project/opencode.json')).toEqual({
      mcp: {
        tieline: {
          type: 'remote',
          url: 'https://agents.example/mcp',
          enabled: true,
          headers: { Authorization: 'Bearer {env:TIELINE_TOKEN}' },
        },
      },
    })
    expect(await readJson('project/.gemini/settings.json')).toMatchObject({
      mcpServers: { tieline: { httpUrl: 'https://agents.example/mcp' } },
    })
    expect(parseToml(await read('project/.codex/config.toml'))).toMatchObject({
      mcp_servers: { tieline: { url: 'https://agents.example/mcp', bearer_token_env_var: 'TIELINE_TOKEN' } },
    })
  })

  test('a server on this machine needs no token', async () => {
    await run({ client: 'claude', yes: true, server: 'http://127.0.0.1:8283' })
    expect(await readJson('project/.mcp.json')).toEqual({
      mcpServers: { tieline: { type: 'http', url: 'http://127.0.0.1:8283/mcp' } },
    })
  })

  test('the newer shape of OpenCode is kept where a file has it', async () => {
    await put(
      'project/opencode.jsonc',
      '{ "mcp": { "servers": { "other": { "type": "local", "command": ["a"] } } } }',
    )
    await run({ client: 'opencode', yes: true })
    expect(await readJson('project/opencode.jsonc')).toMatchObject({
      mcp: { servers: { other: {}, tieline: { type: 'local' } } },
    })
    expect(await readdir(at.cwd)).toEqual(['opencode.jsonc'])
  })
})

describe('what is there stays', () => {
  test('other entries, comments and other settings', async () => {
    const before =
      '{\n  // my theme\n  "theme": "dark",\n  "mcp": {\n    "other": { "type": "remote", "url": "https://x" } // keep\n  }\n}\n'
    await put('project/opencode.jsonc', before)
    expect(await run({ client: 'opencode', yes: true })).toBe(0)
    const after = await read('project/opencode.jsonc')
    for (const line of before.split('\n').filter((part) => !part.includes('other')))
      expect(after).toContain(line)
    expect(after).toContain('"other": { "type": "remote", "url": "https://x" }, // keep')
  })

  test('in TOML too', async () => {
    const before = '# mine\nmodel = "o9"\n\n[mcp_servers.other]\ncommand = "a"   # keep\n'
    await put('project/.codex/config.toml', before)
    expect(await run({ client: 'codex', yes: true })).toBe(0)
    const after = await read('project/.codex/config.toml')
    expect(after.startsWith(before)).toBe(true)
    expect(parseToml(after)).toMatchObject({
      model: 'o9',
      mcp_servers: { other: { command: 'a' }, tieline: stdio },
    })
  })

  test.each([
    ['claude', 'project/.mcp.json', '{ "mcpServers": { '],
    ['gemini', 'project/.gemini/settings.json', '[1, 2]'],
    ['claude', 'project/.mcp.json', '{ "mcpServers": [] }'],
    ['codex', 'project/.codex/config.toml', 'model = '],
    ['codex', 'project/.codex/config.toml', 'mcp_servers = { other = { command = "a" } }\n'],
  ])(
    'a file of %s that is not understood is left alone, with the entry to paste: %s %s',
    async (client, file, before) => {
      await put(file, before)
      expect(await run({ client, yes: true })).toBe(1)
      expect(await read(file)).toBe(before)
      expect(printed).toContain('is left alone')
      expect(printed).toMatch(/Paste this yourself:[\s\S]*tieline[\s\S]*mcp/)
    },
  )

  test('an entry of the same name, whatever it says', async () => {
    const before = '{ "mcpServers": { "tieline": { "command": "my-own" } } }'
    await put('project/.mcp.json', before)
    expect(await run({ client: 'claude', yes: true })).toBe(1)
    expect(await read('project/.mcp.json')).toBe(before)
    expect(printed).toContain('has another entry mcpServers.tieline')
  })

  test('two clients that read one file share one entry', async () => {
    await run({ client: 'claude,copilot', yes: true })
    expect(printed).toContain('Claude Code: .mcp.json (new file)')
    expect(printed).toContain('GitHub Copilot CLI: .mcp.json (has this entry already)')
  })

  test('a second time nothing is written', async () => {
    await run({ client: 'all', yes: true })
    const before = await read('project/.codex/config.toml')
    printed = ''
    expect(await run({ client: 'all', yes: true })).toBe(0)
    expect(await read('project/.codex/config.toml')).toBe(before)
    expect(printed.match(/has this entry already/g)).toHaveLength(5)
  })

  test('links are followed, and rights kept', async () => {
    const real = await put('dotfiles/claude.json', '{}')
    await chmod(real, 0o660)
    await symlink(real, join(at.home, '.claude.json'))
    expect(await run({ client: 'claude', user: true, yes: true })).toBe(0)
    expect((await lstat(join(at.home, '.claude.json'))).isSymbolicLink()).toBe(true)
    expect((await stat(real)).mode & 0o777).toBe(0o660)
    expect(await readJson('dotfiles/claude.json')).toMatchObject({ mcpServers: { tieline: {} } })
    expect(await readdir(join(root, 'dotfiles'))).toEqual(['claude.json'])
  })
})

describe('whoever runs it decides', () => {
  const typed = (line: string): Partial<CommandInput> => {
    const from = Object.assign(new PassThrough(), { isTTY: true })
    from.write(`${line}\n`)
    return {
      in: from,
      out: Object.assign(new PassThrough(), {
        isTTY: true,
        columns: 80,
        rows: 24,
      }) as unknown as CommandInput['out'],
    }
  }

  test.each([
    ['y', 0, true],
    ['', 1, false],
    ['no', 1, false],
  ])('"%s" at the question gives %d', async (line, code, written) => {
    expect(await run({ client: 'claude' }, typed(line))).toBe(code)
    expect((await readdir(at.cwd)).includes('.mcp.json')).toBe(written)
  })

  test('where nobody can be asked nothing is written without --yes', async () => {
    expect(await run({ client: 'claude' })).toBe(1)
    expect(await readdir(at.cwd)).toEqual([])
    expect(printed).toContain('+ {')
    expect(printed).toContain('Nothing was written. --yes writes without asking.')
  })

  test('what is shown is what changes', async () => {
    await put('project/.mcp.json', '{\n  "mcpServers": {\n    "other": { "command": "a" }\n  }\n}\n')
    await run({ client: 'claude' })
    expect(printed).toContain(
      '  -     "other": { "command": "a" }\n  +     "other": { "command": "a" },\n  +     "tieline": {\n',
    )
  })

  test('as JSON', async () => {
    expect(await run({ client: 'claude,codex', yes: true, json: true })).toBe(0)
    expect(JSON.parse(printed)).toMatchObject({
      files: [
        { client: 'Claude Code', state: 'write', written: true },
        { client: 'Codex', written: true },
      ],
    })
  })
})

describe('which clients', () => {
  test('those that are used in the project or found on the machine', async () => {
    await put('project/GEMINI.md', '')
    await put('home/.codex/auth.json', '{}')
    const program = await put('bin/opencode', '')
    at = { ...at, env: { PATH: dirname(program) } }
    await run({ yes: true })
    expect([...printed.matchAll(/^(\S.*): .* \(new file\)$/gm)].map((match) => match[1])).toEqual([
      'Codex',
      'OpenCode',
      'Gemini CLI',
    ])
  })

  test('none found is said, and so is one that is not known', async () => {
    await expect(run({ yes: true })).rejects.toThrow('no MCP client was found')
    await expect(run({ client: 'emacs' })).rejects.toThrow(
      '--client: "emacs" was given, but one of claude, codex, opencode, copilot, gemini or all is needed.',
    )
    await expect(run({ client: 'claude', server: 'nonsense' })).rejects.toThrow(
      '--server: "nonsense" was given',
    )
  })

  test('all of them have a name of their own', () =>
    expect(new Set(mcpClients.map((client) => client.id)).size).toBe(5))
})

test('the command is the program by name where every shell finds it, and otherwise the files that run now', async () => {
  const program = await put('bin/tieline', '')
  expect(chooseProcess({ ...at, env: { PATH: dirname(program) } }, own)).toEqual({
    kind: 'process',
    command: 'tieline',
    args: ['mcp'],
  })
  const hidden = await put('x/node_modules/.bin/tieline', '')
  expect(chooseProcess({ ...at, env: { PATH: dirname(hidden) } }, own)).toEqual({
    kind: 'process',
    command: '/opt/node',
    args: [own.script, 'mcp'],
  })
  const inProject = await put('has/node_modules/.bin/tieline', '')
  expect(chooseProcess({ ...at, cwd: join(dirname(inProject), '..', '..') }, own)).toEqual({
    kind: 'process',
    command: 'npx',
    args: ['tieline', 'mcp'],
  })
  expect(
    chooseProcess(at, { ...own, script: '/home/me/.npm/_npx/1/node_modules/tieline/bin/tieline.js' }),
  ).toEqual({ kind: 'process', command: 'npx', args: ['-y', 'tieline', 'mcp'] })
})

test('an entry of a project that only works on this machine says so; one of the user need not', async () => {
  await run({ client: 'gemini', yes: true })
  expect(printed).toContain('names files of this machine')
  printed = ''
  await run({ client: 'gemini', user: true, yes: true })
  await run({ client: 'claude', yes: true, server: 'http://127.0.0.1:8283' })
  expect(printed).not.toContain('names files of this machine')
})

test('a configuration and a data directory that were named go along, as whole paths', async () => {
  await run({ client: 'gemini', yes: true, config: 'my.toml', 'data-dir': '/data' })
  expect(await readJson('project/.gemini/settings.json')).toMatchObject({
    mcpServers: {
      tieline: { args: [own.script, 'mcp', '--config', join(at.cwd, 'my.toml'), '--data-dir', '/data'] },
    },
  })
})

test('the starter is a configuration that works, and is never written over another', async () => {
  await run({ client: 'claude', starter: true, yes: true })
  const { config, warnings } = await loadConfig({ cwd: at.cwd, env: {}, home: at.home })
  expect(config.agents.map((agent) => agent.name)).toEqual(['planner', 'reader'])
  expect(warnings).toEqual([])
  await put('project/tieline.toml', '# mine\n')
  await run({ client: 'claude', starter: true, yes: true })
  expect(await read('project/tieline.toml')).toBe('# mine\n')
})

test('the flags of the command are those that it reads', () =>
  expect(Object.keys(init.flags)).toEqual(['client', 'user', 'starter', 'yes']))
