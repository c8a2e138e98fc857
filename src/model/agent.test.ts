import { expect, test } from 'vitest'
import {
  Agent,
  AgentName,
  Billing,
  externalAgent,
  isDriven,
  isMadeName,
  Label,
  mayCallAgent,
  McpServer,
  Permissions,
  PresetName,
  SandboxMode,
} from './agent.ts'

const messageOf = (parsed: { error?: { issues: readonly { message: string }[] } | undefined }): string =>
  parsed.error?.issues[0]?.message ?? ''

test('an agent of which only the name is given has these defaults', () => {
  expect(Agent.parse({ name: 'writer' })).toEqual({
    name: 'writer',
    description: '',
    prompt: '',
    driver: 'model',
    tools: [],
    ask: [],
    allowSubAgentCalls: false,
    maxDepth: 5,
    limits: {},
    mcpServers: {},
  })
})

test('what is given of an agent is kept, field by field', () => {
  const whole = {
    name: 'a.b_c-1',
    title: 'A',
    description: 'd',
    prompt: 'p',
    driver: 'acp',
    model: 'x/y',
    preset: 'claude',
    command: ['run'],
    billing: 'plan',
    permissions: 'ask',
    tools: ['read'],
    ask: ['shell'],
    allowSubAgentCalls: true,
    mayCall: ['b'],
    maxDepth: 2,
    shared: true,
    limits: { timeoutSeconds: 1, maxIterations: 2, maxTokens: 3, maxUsd: 4 },
    sandbox: 'required',
    runsOn: 'gpu',
    mcpServers: { 'server-1': { command: 'go', args: ['x'], env: { A: 'b' }, repeatable: ['look'] } },
  }
  expect(Agent.parse(whole)).toEqual(whole)
})

test.each([
  ['writer', true],
  ['a', true],
  ['9', true],
  ['a.b_c-d', true],
  ['x'.repeat(64), true],
  ['x'.repeat(65), false],
  ['', false],
  ['-a', false],
  ['_a', false],
  ['a b', false],
  ['a/b', false],
  ['ä', false],
  [' a', false],
  ['a\n', false],
])('%j as the name of an agent and as a label: %s', (name, isName) => {
  expect(AgentName.safeParse(name).success).toBe(isName)
  expect(Label.safeParse(name).success).toBe(isName)
})

test('a name that is none is refused with what a name is', () => {
  expect(messageOf(AgentName.safeParse('a b'))).toBe(
    'letters, digits, "_", "-" and ".", at most 64, starting with a letter or digit',
  )
  expect(messageOf(Label.safeParse('a b'))).toBe('letters, digits, "_", "-" and "."')
  const servers = (name: string) => Agent.safeParse({ name: 'a', mcpServers: { [name]: { command: 'go' } } })
  expect(servers('a-1').success).toBe(true)
  expect(servers('x'.repeat(32)).success).toBe(true)
  expect(servers('x'.repeat(33)).success).toBe(false)
  expect(servers('a_1').success).toBe(false)
  expect(servers('a b').success).toBe(false)
  expect(servers(' a').success).toBe(false)
  expect(JSON.stringify(servers('a b').error?.issues)).toContain(
    String.raw`letters, digits and \"-\", at most 32`,
  )
})

test('a server of tools is a command or an address', () => {
  expect(McpServer.parse({ command: 'go' })).toEqual({ command: 'go', args: [], env: {}, repeatable: [] })
  expect(McpServer.parse({ url: 'http://127.0.0.1:1/mcp' })).toEqual({
    url: 'http://127.0.0.1:1/mcp',
    headers: {},
    repeatable: [],
  })
  expect(McpServer.safeParse({ command: '' }).success).toBe(false)
  expect(McpServer.safeParse({ url: 'nowhere' }).success).toBe(false)
  expect(McpServer.safeParse({ command: 'go', url: 'http://127.0.0.1:1' }).success).toBe(false)
})

test('a command has a program, and may have more', () => {
  const takes = (command: string[]): boolean => Agent.safeParse({ name: 'a', command }).success
  expect([[], [''], ['run'], ['run', 'it']].map(takes)).toEqual([false, false, true, true])
})

test('the words of the settings are these', () => {
  expect(SandboxMode.options).toEqual(['auto', 'required', 'off'])
  expect(PresetName.options).toEqual(['claude', 'codex', 'opencode', 'copilot', 'gemini'])
  expect(Permissions.options).toEqual(['ask', 'allow', 'deny', 'readonly'])
  expect(Billing.options).toEqual(['plan', 'key'])
})

test('only the driver acp drives an agent that keeps its own loop', () => {
  expect(isDriven({ driver: 'acp' })).toBe(true)
  expect(isDriven({ driver: 'model' })).toBe(false)
})

test('a name that a door made begins with agent_', () => {
  expect(isMadeName('agent_1')).toBe(true)
  expect(isMadeName('my-agent_')).toBe(false)
})

test('a client outside may use every tool, call everybody and is never run', () => {
  expect(externalAgent).toMatchObject({
    name: 'external',
    description: 'A client outside',
    driver: 'none',
    tools: ['*'],
    allowSubAgentCalls: true,
    maxDepth: 64,
  })
  expect(externalAgent.mayCall).toBeUndefined()
})

const caller = (more: object): Agent => Agent.parse({ name: 'caller', allowSubAgentCalls: true, ...more })

test.each([
  ['one that may call nobody', caller({ allowSubAgentCalls: false }), { name: 'a' }, false],
  [
    'one that may call nobody, though it lists some',
    caller({ allowSubAgentCalls: false, mayCall: ['a'] }),
    { name: 'a' },
    false,
  ],
  ['one without a list', caller({}), { name: 'a' }, true],
  ['one whose list has the name', caller({ mayCall: ['b', 'a'] }), { name: 'a' }, true],
  ['one whose list has the title', caller({ mayCall: ['A'] }), { name: 'a', title: 'A' }, true],
  ['one whose list has neither', caller({ mayCall: ['b'] }), { name: 'a', title: 'A' }, false],
  ['one whose list is empty', caller({ mayCall: [] }), { name: 'a' }, false],
])('%s calls accordingly', (_who, from, to, may) => {
  expect(mayCallAgent(from, to)).toBe(may)
})

test('an agent has one to eight that do its work in its place, each with a name', () => {
  const fallback = (names: readonly string[]): boolean =>
    Agent.safeParse({ name: 'a', fallback: names }).success
  expect(fallback(['reviewer'])).toBe(true)
  expect(fallback(Array.from({ length: 8 }, (_, at) => `agent-${at}`))).toBe(true)
  expect(fallback(Array.from({ length: 9 }, (_, at) => `agent-${at}`))).toBe(false)
  expect(fallback([])).toBe(false)
  expect(fallback([''])).toBe(false)
})
