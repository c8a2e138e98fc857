import { expect, test } from 'vitest'
import type { Permissions } from './agent.ts'
import { findOwnTool, ruleOn, type AskedTool, type Ruling } from './permission.ts'

const asked = (more: Partial<AskedTool> = {}): AskedTool => ({
  id: 'tool-1',
  title: 'Something else',
  name: null,
  kind: 'other',
  input: {},
  locations: [],
  ...more,
})
const titles = new Map([['Call an agent', 'sub_agent']])

test.each([
  ['mcp__tieline__sub_agent', 'sub_agent'],
  ['mcp__tieline__send-message', 'send-message'],
  ['tieline_sub_agent', 'sub_agent'],
  ['tieline/sub_agent', 'sub_agent'],
  ['tieline.sub_agent', 'sub_agent'],
  ['tieline-sub_agent', 'sub_agent'],
  ['mcp_tieline_sub_agent', 'sub_agent'],
  ['sub_agent (tieline MCP Server)', 'sub_agent'],
  ['Tool: tieline/sub_agent', 'sub_agent'],
  ['mcp: tieline.sub_agent', 'sub_agent'],
  ['Call an agent', 'sub_agent'],
])('"%s" is our tool, as a title and as a name', (text, tool) => {
  expect(findOwnTool(asked({ title: text }), titles)).toBe(tool)
  const byName = findOwnTool(asked({ name: text }), titles)
  expect(byName).toBe(text === 'Call an agent' ? null : tool)
})

test.each([
  'rm -rf mcp__tieline__sub_agent',
  'mcp__tieline__sub_agent && rm',
  'x tieline_sub_agent',
  'tieline_sub_agent x',
  'x mcp_tieline_sub_agent',
  'mcp_tieline_sub_agent x',
  'x sub_agent (tieline MCP Server)',
  'sub_agent (tieline MCP Server) x',
  'x Tool: tieline/sub_agent',
  'Tool: tieline/sub_agent x',
  'Tool: other/sub_agent',
  'tieline',
  'tieline_',
  'call an agent',
  '',
])('a title that only mentions us, such as "%s", is no tool of ours', (title) => {
  expect(findOwnTool(asked({ title }), titles)).toBeNull()
})

test('the name comes before the title', () => {
  expect(findOwnTool(asked({ name: 'tieline_buffer', title: 'tieline_sub_agent' }), titles)).toBe('buffer')
  expect(findOwnTool(asked({ name: 'bash', title: 'tieline_sub_agent' }), titles)).toBe('sub_agent')
})

test.each(['execute', 'edit', 'delete', 'move'])(
  'what is of the kind %s is never ours by its name',
  (kind) => {
    expect(findOwnTool(asked({ kind, title: 'mcp__tieline__sub_agent' }), titles)).toBeNull()
    expect(findOwnTool(asked({ kind, title: 'Call an agent' }), titles)).toBeNull()
  },
)

test.each<[string, unknown, string | null]>([
  ['server and tool', { server: 'tieline', tool: 'sub_agent' }, 'sub_agent'],
  ['no tool', { server: 'tieline' }, null],
  ['a tool that is no text', { server: 'tieline', tool: 7 }, null],
  ['another server', { server: 'other', tool: 'sub_agent' }, null],
  ['a command too', { server: 'tieline', tool: 'sub_agent', command: 'rm' }, null],
  ['no object', 'server tieline', null],
  ['nothing', null, null],
])('an input with %s says which tool it is, even of a command', (_what, input, tool) => {
  expect(findOwnTool(asked({ kind: 'execute', input }), titles)).toBe(tool)
})

test('an input that names us without a tool counts before what its title says', () => {
  expect(findOwnTool(asked({ title: 'tieline_sub_agent', input: { server: 'tieline' } }), titles)).toBeNull()
})

const kinds = ['read', 'search', 'think', 'edit', 'delete', 'move', 'execute', 'fetch', 'other']
const rule = (kind: string, policy: Permissions, ceiling: string[] | null = null): Ruling =>
  ruleOn(asked({ kind }), policy, ceiling, titles)

test.each<[Permissions, (kind: string) => Ruling]>([
  ['allow', () => 'allow'],
  ['deny', () => 'deny'],
  ['ask', () => 'ask'],
  ['readonly', (kind) => (['read', 'search', 'think'].includes(kind) ? 'allow' : 'deny')],
])('without a ceiling the policy %s rules', (policy, expected) => {
  expect(kinds.map((kind) => [kind, rule(kind, policy)])).toEqual(kinds.map((kind) => [kind, expected(kind)]))
})

test.each([
  ['read', ['read']],
  ['search', ['search']],
  ['list', ['search']],
  ['edit', ['edit', 'delete', 'move']],
  ['write', ['edit', 'delete', 'move']],
  ['shell', ['execute']],
  ['*', ['read', 'search', 'edit', 'delete', 'move', 'execute']],
  ['sub_agent', []],
])('a ceiling with %s leaves the kinds that do the same, and denies all others', (tool, left) => {
  expect(kinds.filter((kind) => rule(kind, 'allow', [tool]) === 'allow').sort()).toEqual([...left].sort())
  expect(kinds.filter((kind) => rule(kind, 'ask', [tool]) === 'ask').sort()).toEqual([...left].sort())
})

test('an empty ceiling denies everything', () => {
  expect(kinds.map((kind) => rule(kind, 'allow', []))).toEqual(kinds.map(() => 'deny'))
})

test('our own tools are allowed whatever the policy and the ceiling: their rules are checked where they run', () => {
  for (const policy of ['allow', 'deny', 'ask', 'readonly'] as const)
    expect(ruleOn(asked({ title: 'tieline_sub_agent' }), policy, [], titles)).toBe('allow')
})
