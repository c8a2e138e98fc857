import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cwd, load, loadProblems, loadText } from '../test/kits/config.ts'

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
  [
    '[agents.a.mcpServers.f]\ncommand = "x"\nurl = "http://x"',
    'agents.a.mcpServers.f.url: does not go together with command; leave one of them out.',
  ],
  ['[limits]\ndephtMax = 1', 'limits.dephtMax: unknown key; the nearest known one is "depthMax".'],
  ['[tracing]\nzzzzzzzzzz = 1', 'tracing.zzzzzzzzzz: unknown key; the known ones are enable.'],
])('an unknown key is an error that names the nearest known one: %j', async (text, message) => {
  expect(await loadProblems(text)).toBe(`${join(cwd, 'tieline.toml')}: ${message}`)
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
    'providers.x.baseURL: nothing was given, but the URL of the server, ' +
      'such as "http://127.0.0.1:11434/v1", is needed.',
  ],
  [
    '[agents."a b"]\n',
    'agents.a b: this name is not right: letters, digits, "_", "-" and ".", at most 64, ' +
      'starting with a letter or digit are needed.',
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
    expect(await loadProblems(text)).toBe(`${join(cwd, 'tieline.toml')}: ${message}`)
  },
)

test('all problems of a file are told at once', async () => {
  expect(
    (await loadProblems('[server]\nport = "x"\nhots = "y"\n[mail]\nstorage = "disk"')).split('\n'),
  ).toHaveLength(3)
})

test('a key in place of the name of its variable is not repeated in the error', async () => {
  const message = await loadProblems('[providers.x]\nkind = "openai"\napiKeyEnv = "sk-123-secret"')
  expect(message).toContain('providers.x.apiKeyEnv')
  expect(message).not.toContain('secret')
})

test('a syntax error names file and line', async () => {
  expect(await loadProblems('[server]\nport = = 1\n')).toContain(`${join(cwd, 'tieline.toml')}:2:`)
  expect(await loadProblems('{ "server": }', { file: 'x.json' }, 'x.json')).toContain(
    `${join(cwd, 'x.json')}: this is not JSON`,
  )
})

test.each(['opencode', 'a2a'])(
  'the driver %s is known and not here yet, which is the only thing said about its agent',
  async (driver) => {
    const message = await loadProblems(`[agents.claude]\ndriver = "${driver}"\ncommand = ["npx"]`)
    expect(message).toBe(
      `${join(cwd, 'tieline.toml')}: agents.claude.driver: this version does not have the driver ` +
        `"${driver}" yet; it has model, scripted, host, acp.`,
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
    '[agents.a]\nfallback = ["bb", "b"]\n[agents.bb]',
    'agents.a.fallback[1]: "b" was given, but the name of a configured agent is needed',
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
  expect(await loadProblems(text)).toContain(message)
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
  expect(
    await loadProblems('[agents.a]\nallow_sub_agent_calls = true\nallowSubAgentCalls = false'),
  ).toContain('allowSubAgentCalls says the same')
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

test('a driven agent needs a preset or a command, and only it has them', async () => {
  expect(await loadProblems('[agents.codex]\ndriver = "acp"')).toContain(
    'agents.codex: the driver "acp" needs a preset ("claude", "codex", …) or a command; add one.',
  )
  expect(await loadProblems('[agents.a]\nbilling = "key"')).toContain(
    'agents.a.billing: only the driver "acp" has it, and this one is "model".',
  )
  const { config } = await loadText('[agents.codex]\ndriver = "acp"\npreset = "codex"')
  expect(config.agents[0]).toMatchObject({ driver: 'acp', preset: 'codex', tools: ['*'] })
})
