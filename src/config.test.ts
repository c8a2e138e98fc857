import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { limitsDefault } from './model/limits.ts'
import { cwd, home, load, loadText, root } from '../test/kits/config.ts'

const documented = `
[server]
port = 8283
host = "127.0.0.1"
dataDir = "~/.local/share/tieline"
auth = "auto"
[providers.local]
kind = "openai-compatible"
baseURL = "http://127.0.0.1:11434/v1"
apiKeyEnv = "LOCAL_API_KEY"
[agents.planner]
description = "Breaks work down and delegates"
prompt = "You plan."
driver = "model"
model = "local/qwen3"
tools = ["read", "list", "sub_agent", "send_agent_message"]
allowSubAgentCalls = true
mayCall = ["coder", "reviewer"]
maxDepth = 5
[agents.reviewer]
driver = "scripted"
script = [{ when = "review", answer = "fine" }]
[agents.coder]
driver = "model"
model = "local/qwen3"
tools = ["read", "write", "edit", "shell", "files_*"]
ask = ["shell"]
limits = { timeoutSeconds = 120, maxIterations = 16, maxTokens = 50000 }
[agents.coder.mcpServers.files]
command = "npx"
args = ["-y", "some-mcp-server"]
[limits]
depthMax = 5
flowTokensMax = 500000
archiveAfterHours = 24
[subagent]
agent = "coder"
artifactKinds = ["note", "path", "diff", "json"]
[tools]
enable = ["*"]
[tools.defaults.send-message]
draft = true
[tools.locked.list-session]
dir = "."
[mail]
storage = "sqlite"
directory = "~/.local/share/opencode/storage/call-response"
cdc = true
[tracing]
enable = true
`

test('with no file at all everything has its default', async () => {
  const { config, file, token, warnings } = await load()
  expect(file).toBeNull()
  expect(token).toBeNull()
  expect(warnings).toEqual([])
  expect(config).toEqual({
    server: {
      port: 8283,
      host: '127.0.0.1',
      dataDir: join(home, '.local/share/tieline'),
      auth: 'auto',
      sandbox: 'auto',
    },
    store: { engine: 'sqlite', urlEnv: 'TIELINE_DATABASE_URL', segmentAfterDays: 30 },
    node: { labels: [] },
    notify: {},
    sandbox: { network: 'public', writable: [], hidden: [] },
    providers: {},
    prices: {},
    agents: [],
    scripts: {},
    limits: limitsDefault,
    subagent: { artifactKinds: ['note', 'path', 'diff', 'json'] },
    tools: { enable: ['*'], defaults: {}, locked: {} },
    mail: {
      storage: 'sqlite',
      directory: join(home, '.local/share/opencode/storage/call-response'),
      cdc: true,
      release: 'agents',
    },
    import: { agents: [] },
    wake: { default: 'next', replies: 'wake', perHour: 6, senders: {}, codex: true },
    tracing: { enable: true },
  })
})

test('the documented example is read as it stands, without a warning', async () => {
  const { config, warnings } = await loadText(documented)
  expect(warnings).toEqual([])
  expect(config.agents.map((agent) => agent.name)).toEqual(['planner', 'reviewer', 'coder'])
  expect(config.agents[0]).toMatchObject({
    allowSubAgentCalls: true,
    mayCall: ['coder', 'reviewer'],
    maxDepth: 5,
  })
  expect(config.agents[2]).toMatchObject({
    ask: ['shell'],
    limits: { maxTokens: 50_000 },
    mcpServers: { files: { command: 'npx', args: ['-y', 'some-mcp-server'], env: {}, repeatable: [] } },
  })
  expect(config.scripts).toEqual({ reviewer: [{ when: 'review', answer: 'fine' }] })
  expect(config.limits.flowTokensMax).toBe(500_000)
  expect(config.tools).toEqual({
    enable: ['*'],
    defaults: { 'send-message': { draft: true } },
    locked: { 'list-session': { dir: '.' } },
  })
})

test("the working directory comes before the user's own, and XDG_CONFIG_HOME before ~/.config", async () => {
  await writeFile(join(home, '.config', 'tieline', 'tieline.json'), '{ "server": { "port": 1 } }')
  expect((await load()).config.server.port).toBe(1)
  await writeFile(join(root, 'xdg', 'tieline', 'tieline.toml'), 'server.port = 2')
  expect((await load({ env: { XDG_CONFIG_HOME: join(root, 'xdg') } })).config.server.port).toBe(2)
  const { config, file } = await loadText('server.port = 3')
  expect([config.server.port, file]).toEqual([3, join(cwd, 'tieline.toml')])
})

test('a second file in the same directory is not read, and a warning says so', async () => {
  await writeFile(join(cwd, 'tieline.json'), '{ "server": { "port": 4 } }')
  const { config, warnings } = await loadText('server.port = 5')
  expect(config.server.port).toBe(5)
  expect(warnings.join()).toContain('tieline.json is not read')
})

test('a named file must exist, and a flag wins over TIELINE_CONFIG', async () => {
  await writeFile(join(cwd, 'a.toml'), 'server.port = 6')
  await writeFile(join(home, 'b.json'), '{ "server": { "port": 7 } }')
  expect((await load({ env: { TIELINE_CONFIG: '~/b.json' } })).config.server.port).toBe(7)
  expect((await load({ file: 'a.toml', env: { TIELINE_CONFIG: '~/b.json' } })).config.server.port).toBe(6)
  await expect(load({ file: 'c.toml' })).rejects.toThrow(/c\.toml: there is no such file; --config/)
  await expect(load({ env: { TIELINE_CONFIG: 'd.toml' } })).rejects.toThrow(
    /d\.toml: there is no such file; TIELINE_CONFIG/,
  )
})

test('the environment wins over the file', async () => {
  const env = {
    TIELINE_PORT: '9000',
    TIELINE_HOST: '::1',
    TIELINE_DATA_DIR: '~/data',
    TIELINE_TOKEN: 'secret',
  }
  const { config, token } = await loadText('[server]\nport = 1\nhost = "localhost"\ndataDir = "here"', {
    env,
  })
  expect(config.server).toMatchObject({ port: 9000, host: '::1', dataDir: join(home, 'data'), auth: 'auto' })
  expect(token).toBe('secret')
})

test('a directory of the file is relative to the file, and an empty variable is an absent one', async () => {
  const { config } = await loadText('[server]\ndataDir = "here"\nport = 1', {
    env: { TIELINE_PORT: '', TIELINE_DATA_DIR: '' },
  })
  expect(config.server).toMatchObject({ dataDir: join(cwd, 'here'), port: 1 })
})

test('an agent and a provider may be called what every object has', async () => {
  const text = '[agents.constructor]\ndriver = "scripted"\n[agents.toString]\nmodel = "valueOf/small"\n'
  const { config } = await loadText(text)
  expect(config.scripts['constructor']).toBeUndefined()
  expect(config.providers['valueOf']).toBeUndefined()
  expect(config.agents.map(({ name }) => name)).toEqual(['constructor', 'toString'])
})
