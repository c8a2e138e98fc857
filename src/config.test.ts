import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ConfigError, loadConfig, type ConfigSource, type LoadedConfig } from './config.ts'
import { limitsDefault } from './model/limits.ts'

let root: string
let cwd: string
let home: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tieline-config-'))
  cwd = join(root, 'work')
  home = join(root, 'home')
  await Promise.all([
    mkdir(cwd),
    mkdir(join(home, '.config', 'tieline'), { recursive: true }),
    mkdir(join(root, 'xdg', 'tieline'), { recursive: true }),
  ])
})
afterEach(async () => rm(root, { recursive: true }))

const load = (source: Partial<ConfigSource> = {}): Promise<LoadedConfig> =>
  loadConfig({ cwd, home, env: {}, ...source })

async function loadText(
  text: string,
  source: Partial<ConfigSource> = {},
  name = 'tieline.toml',
): Promise<LoadedConfig> {
  await writeFile(join(cwd, name), text)
  return load(source)
}

async function problemsOf(
  text: string,
  source: Partial<ConfigSource> = {},
  name = 'tieline.toml',
): Promise<string> {
  const error = await loadText(text, source, name).then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ConfigError)
  return (error as ConfigError).message
}

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
    server: { port: 8283, host: '127.0.0.1', dataDir: join(home, '.local/share/tieline'), auth: 'auto' },
    providers: {},
    agents: [],
    scripts: {},
    limits: limitsDefault,
    subagent: { artifactKinds: ['note', 'path', 'diff', 'json'] },
    tools: { enable: ['*'], defaults: {}, locked: {} },
    mail: {
      storage: 'sqlite',
      directory: join(home, '.local/share/opencode/storage/call-response'),
      cdc: true,
    },
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

test("the working directory comes before the user's configuration directory, and XDG_CONFIG_HOME before ~/.config", async () => {
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
  expect(config.server).toEqual({ port: 9000, host: '::1', dataDir: join(home, 'data'), auth: 'auto' })
  expect(token).toBe('secret')
})

test('a directory of the file is relative to the file, and an empty variable is an absent one', async () => {
  const { config } = await loadText('[server]\ndataDir = "here"\nport = 1', {
    env: { TIELINE_PORT: '', TIELINE_DATA_DIR: '' },
  })
  expect(config.server).toMatchObject({ dataDir: join(cwd, 'here'), port: 1 })
})

test.each(['abc', '65536', '-1', '1.5', ' 80'])(
  'TIELINE_PORT %j is an error that names the variable',
  async (port) => {
    await expect(load({ env: { TIELINE_PORT: port } })).rejects.toThrow(
      `TIELINE_PORT: ${JSON.stringify(port)} was given, but a port from 0 to 65535 is needed.`,
    )
  },
)

test.each([
  ['[agnts.a]\n', 'agnts: unknown key; the nearest known one is "agents".'],
  ['[server]\nprot = 1', 'server.prot: unknown key; the nearest known one is "port".'],
  ['[agents.a]\nmay_call = []', 'agents.a.may_call: unknown key; the nearest known one is "mayCall".'],
  [
    '[agents.a.limits]\nmaxToken = 1',
    'agents.a.limits.maxToken: unknown key; the nearest known one is "maxTokens".',
  ],
  [
    '[agents.a.mcpServers.f]\ncommand = "x"\narg = []',
    'agents.a.mcpServers.f.arg: unknown key; the nearest known one is "args".',
  ],
  ['[limits]\ndephtMax = 1', 'limits.dephtMax: unknown key; the nearest known one is "depthMax".'],
  ['[tracing]\nzzzzzzzzzz = 1', 'tracing.zzzzzzzzzz: unknown key; known are enable.'],
])('an unknown key is an error that names the nearest known one: %j', async (text, message) => {
  expect(await problemsOf(text)).toBe(`${join(cwd, 'tieline.toml')}: ${message}`)
})

test.each([
  ['server.port = "80"', 'server.port: "80" was given, but a number is needed.'],
  ['server.port = 70000', 'server.port: 70000 was given, but at most 65535 is needed.'],
  ['server.auth = "maybe"', 'server.auth: "maybe" was given, but one of "auto", "on", "off" is needed.'],
  [
    '[providers.x]\nbaseURL = "http://x"',
    'providers.x.kind: nothing was given, but one of "anthropic", "openai", "google", "openai-compatible" is needed.',
  ],
  [
    '[providers.x]\nkind = "openai-compatible"',
    'providers.x.baseURL: nothing was given, but the URL of the server, such as "http://127.0.0.1:11434/v1", is needed.',
  ],
  [
    '[agents."a b"]\n',
    'agents.a b: this name is not right: letters, digits, "_", "-" and ".", at most 64, starting with a letter or digit are needed.',
  ],
  ['[agents.a]\ntools = "read"', 'agents.a.tools: "read" was given, but a list is needed.'],
  ['[agents.a]\ntools = ["read", 1]', 'agents.a.tools[1]: 1 was given, but a text is needed.'],
  [
    '[agents.a.mcpServers.f]\nargs = []',
    'agents.a.mcpServers.f.command: nothing was given, but a text is needed.',
  ],
  [
    '[agents.a.mcpServers.a_b]\ncommand = "x"',
    'agents.a.mcpServers.a_b: this name is not right: letters, digits and "-", at most 32 are needed.',
  ],
  ['tools.enable = 1', 'tools.enable: 1 was given, but true or false or a list is needed.'],
  [
    '[subagent]\nartifactKinds = ["notes"]',
    'subagent.artifactKinds[0]: "notes" was given, but one of "note", "path", "diff", "json" is needed.',
  ],
])(
  'a wrong value is an error that says where, what was given and what is right: %j',
  async (text, message) => {
    expect(await problemsOf(text)).toBe(`${join(cwd, 'tieline.toml')}: ${message}`)
  },
)

test('all problems of a file are told at once', async () => {
  expect(
    (await problemsOf('[server]\nport = "x"\nhots = "y"\n[mail]\nstorage = "disk"')).split('\n'),
  ).toHaveLength(3)
})

test('a key in place of the name of its variable is not repeated in the error', async () => {
  const message = await problemsOf('[providers.x]\nkind = "openai"\napiKeyEnv = "sk-123-secret"')
  expect(message).toContain('providers.x.apiKeyEnv')
  expect(message).not.toContain('secret')
})

test('a syntax error names file and line', async () => {
  expect(await problemsOf('[server]\nport = = 1\n')).toContain(`${join(cwd, 'tieline.toml')}:2:`)
  expect(await problemsOf('{ "server": }', { file: 'x.json' }, 'x.json')).toContain(
    `${join(cwd, 'x.json')}: this is not JSON`,
  )
})

test.each(['acp', 'opencode', 'a2a'])(
  'the driver %s is known and not here yet, which is the only thing said about its agent',
  async (driver) => {
    const message = await problemsOf(`[agents.claude]\ndriver = "${driver}"\ncommand = ["npx"]`)
    expect(message).toBe(
      `${join(cwd, 'tieline.toml')}: agents.claude.driver: this version does not have the driver "${driver}" yet; it has model, scripted, host.`,
    )
  },
)

test.each([
  ['[agents.a]\ndriver = "modle"', 'there is no driver "modle"; the nearest known one is "model"'],
  [
    '[agents.a]\nmayCall = ["b"]\n[agents.bb]',
    'agents.a.mayCall[0]: "b" was given, but the name of a configured agent is needed',
  ],
  [
    '[subagent]\nagent = "coder"\n[agents.codr]',
    'subagent.agent: "coder" was given, but the name of a configured agent is needed; the nearest known one is "codr".',
  ],
  [
    '[agents.a]\ntools = ["read"]\nask = ["shell"]',
    'agents.a.ask[0]: "shell" was given, but a tool of this agent\'s tools is needed',
  ],
  ['[agents.a]\nscript = []', 'only the driver "scripted" has a script'],
  ['[agents.external]', 'taken by the built-in agent'],
  ['[server]\nhost = "0.0.0.0"\nauth = "off"', '"off" is only possible on a loopback address'],
])('keys that contradict each other are errors: %j', async (text, message) => {
  expect(await problemsOf(text)).toContain(message)
})

test('ask may name a tool that a pattern of tools covers', async () => {
  expect(
    (await loadText('[agents.a]\ntools = ["files_*"]\nask = ["files_write", "files_*"]')).config.agents[0]
      ?.ask,
  ).toHaveLength(2)
})

test('the spellings of the seed are accepted, but not both at once', async () => {
  const { config } = await loadText('[agents.a]\nallow_sub_agent_calls = true\nmax_sub_agent_depth = 2')
  expect(config.agents[0]).toMatchObject({ allowSubAgentCalls: true, maxDepth: 2 })
  expect(await problemsOf('[agents.a]\nallow_sub_agent_calls = true\nallowSubAgentCalls = false')).toContain(
    'allowSubAgentCalls says the same',
  )
})

test.each([
  [true, ['*']],
  [false, []],
  [['read'], ['read']],
])('tools.enable %j is the list %j', async (enable, list) => {
  expect(
    (await loadText(JSON.stringify({ tools: { enable } }), { file: 'x.json' }, 'x.json')).config.tools.enable,
  ).toEqual(list)
})

test('a prompt of over 3000 tokens warns, and short prompts do not even load the tokenizer', async () => {
  let loads = 0
  const loadTokenizer = async () => {
    loads += 1
    return (text: string) => text.length / 2
  }
  expect((await loadText('[agents.a]\nprompt = "short"', { loadTokenizer })).warnings).toEqual([])
  expect(loads).toBe(0)
  expect((await loadText(`[agents.a]\nprompt = "${'x'.repeat(6000)}"`, { loadTokenizer })).warnings).toEqual(
    [],
  )
  expect(
    (await loadText(`[agents.a]\nprompt = "${'x'.repeat(6002)}"`, { loadTokenizer })).warnings.join(),
  ).toContain('agents.a.prompt: it has 3001 tokens')
})

test.each([
  ['*', 0],
  ['files_*', 0],
  ['fi*', 0],
  ['files_read', 0],
  ['files_read*', 0],
  ['files', 1],
  ['files_', 1],
  ['file_*', 1],
  ['read', 1],
])('tools = [%j] gives %i warnings about a server named files', async (pattern, count) => {
  const { warnings } = await loadText(
    `[agents.a]\ntools = ["${pattern}"]\nmcpServers.files.url = "http://127.0.0.1:1/mcp"`,
  )
  expect(
    warnings.filter((text) => text.includes('agents.a.mcpServers.files: none of its tools can be used')),
  ).toHaveLength(count)
})

test('a model of a provider that is not there warns', async () => {
  expect(
    (await loadText('[agents.a]\nmodel = "lokal/x"\n[providers.local]\nkind = "openai"')).warnings.join(),
  ).toContain('the nearest known one is "local"')
})

test('what the OpenCode plugin starts keeps mail in AgentFS, unless the file says otherwise', async () => {
  const env = { TIELINE_STARTED_BY: 'opencode' }
  expect([(await load()).config.mail.storage, (await load({ env })).config.mail.storage]).toEqual([
    'sqlite',
    'agentfs',
  ])
  expect((await loadText('[mail]\ncdc = false', { env })).config.mail).toMatchObject({
    storage: 'agentfs',
    cdc: false,
  })
  expect((await loadText('[mail]\nstorage = "files"', { env })).config.mail.storage).toBe('files')
})
