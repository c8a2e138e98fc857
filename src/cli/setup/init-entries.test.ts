import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { here, own, put, read, readJson, run, stdio } from '../../../test/kits/init.ts'
import { chooseProcess, mcpClients } from './init-entries.ts'

test.each([
  [
    'claude',
    {},
    'project/.mcp.json',
    { mcpServers: { tieline: { type: 'stdio', ...stdio, alwaysLoad: true } } },
  ],
  [
    'claude',
    { user: true },
    'home/.claude.json',
    { mcpServers: { tieline: { type: 'stdio', ...stdio, alwaysLoad: true } } },
  ],
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
  [
    'copilot',
    {},
    'project/.mcp.json',
    { mcpServers: { tieline: { type: 'stdio', ...stdio, alwaysLoad: true } } },
  ],
  [
    'copilot',
    { user: true },
    'home/.copilot/mcp-config.json',
    { mcpServers: { tieline: { type: 'stdio', ...stdio, tools: ['*'] } } },
  ],
  ['gemini', {}, 'project/.gemini/settings.json', { mcpServers: { tieline: { ...stdio, trust: true } } }],
  [
    'gemini',
    { user: true },
    'home/.gemini/settings.json',
    { mcpServers: { tieline: { ...stdio, trust: true } } },
  ],
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
        required: true,
        default_tools_approval_mode: 'approve',
        env_vars: expect.arrayContaining(['ANTHROPIC_API_KEY']),
      },
    },
  })
})

test('a remote server is reached by its address, with the token in a variable', async () => {
  await run({ client: 'all', yes: true, server: 'https://agents.example' })
  expect(await readJson('project/.mcp.json')).toEqual({
    mcpServers: {
      tieline: {
        type: 'http',
        url: 'https://agents.example/mcp',
        headers: { Authorization: 'Bearer ${TIELINE_TOKEN}' },
        alwaysLoad: true,
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

test('all sessions of Copilot over HTTP share one of ours: its entry names session and directory', async () => {
  await run({ client: 'copilot', user: true, yes: true, server: 'http://127.0.0.1:8283' })
  expect(await readJson('home/.copilot/mcp-config.json')).toEqual({
    mcpServers: {
      tieline: {
        type: 'http',
        url: 'http://127.0.0.1:8283/mcp',
        headers: {
          'x-tieline-client-session': '${COPILOT_AGENT_SESSION_ID}',
          'x-tieline-cwd': '${PWD}',
        },
        tools: ['*'],
      },
    },
  })
})

test('a server on this machine needs no token', async () => {
  await run({ client: 'claude', yes: true, server: 'http://127.0.0.1:8283' })
  expect(await readJson('project/.mcp.json')).toEqual({
    mcpServers: { tieline: { type: 'http', url: 'http://127.0.0.1:8283/mcp', alwaysLoad: true } },
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
  expect(await readdir(here.at.cwd)).toEqual(['opencode.jsonc'])
})

describe('which clients', () => {
  test('those that are used in the project or found on the machine', async () => {
    await put('project/GEMINI.md', '')
    await put('home/.codex/auth.json', '{}')
    const program = await put('bin/opencode', '')
    here.at = { ...here.at, env: { PATH: dirname(program) } }
    await run({ yes: true })
    expect([...here.printed.matchAll(/^(\S.*): .* \(new file\)$/gm)].map((match) => match[1])).toEqual([
      'Codex',
      'OpenCode',
      'Gemini CLI',
    ])
  })

  test('none found is said, and so is one that is not known', async () => {
    await expect(run({ yes: true })).rejects.toThrow('no MCP client was found')
    await expect(run({ client: 'emacs' })).rejects.toThrow(
      '--client: "emacs" was given, but one of claude, codex, opencode, copilot, gemini, opencode-plugin or all ' +
        'is needed.',
    )
    await expect(run({ client: 'claude', server: 'nonsense' })).rejects.toThrow(
      '--server: "nonsense" was given',
    )
  })

  test('all of them have a name of their own', () =>
    expect(new Set(mcpClients.map((client) => client.id)).size).toBe(5))
})

test('clients start the program by name where every shell finds it, and otherwise by its files', async () => {
  const program = await put('bin/tieline', '')
  expect(chooseProcess({ ...here.at, env: { PATH: dirname(program) } }, own)).toEqual({
    kind: 'process',
    command: 'tieline',
    args: ['mcp'],
  })
  const hidden = await put('x/node_modules/.bin/tieline', '')
  expect(chooseProcess({ ...here.at, env: { PATH: dirname(hidden) } }, own)).toEqual({
    kind: 'process',
    command: '/opt/node',
    args: [own.script, 'mcp'],
  })
  const inProject = await put('has/node_modules/.bin/tieline', '')
  expect(chooseProcess({ ...here.at, cwd: join(dirname(inProject), '..', '..') }, own)).toEqual({
    kind: 'process',
    command: 'npx',
    args: ['tieline', 'mcp'],
  })
  expect(
    chooseProcess(here.at, { ...own, script: '/home/me/.npm/_npx/1/node_modules/tieline/bin/tieline.js' }),
  ).toEqual({ kind: 'process', command: 'npx', args: ['-y', 'tieline', 'mcp'] })
})
