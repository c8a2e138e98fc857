/** Every tool with every kind of wrong input, over MCP and HTTP: what is said about it is for a model to read. */
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client'
import { expect, test, vi } from 'vitest'
import { isRecord, type Json } from '../../src/model/json.ts'
import { openDoors, readTool, type Told } from '../kits/doors.ts'
import { user } from './scene.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 })

/** Words of validators and of programs, which say nothing to a model, and advice that cannot be followed. */
const foreignWords = new RegExp(
  [
    '\\b(invalid|expected|received|unrecognized|too (small|big)|undefined|NaN|zod|regex)\\b',
    '[<>]=|\\[object|is needed\\b|the documented|fits \\^',
  ].join('|'),
  'i',
)

/** What each tool can be asked for without anything happening that matters. */
const harmless: Record<string, Record<string, Json>> = {
  sub_agent: { agent_name: 'nobody', task: 'x' },
  subagent: { task: 'x', timeout_seconds: 0 },
  call_agent: { agent_id: 'nobody', message: 'x' },
  wait_for_call: { call_id: 'call_none', timeout_seconds: 0 },
  read_output: { call_id: 'call_none' },
  send_agent_message: { sessionId: 'ses_none', message: 'x' },
  get_session_state: { sessionId: 'ses_none' },
  create_agent_session: { cwd: '/nowhere' },
  wait_for_session: { sessionId: 'ses_none', timeout_seconds: 0 },
  'list-session': {},
  'send-message': { message: 'x', session: 'ses_none' },
  buffer: {},
  wait_for_mail: { timeout_seconds: 0 },
  list_agents: {},
  steer_call: { call_id: 'call_none', message: 'x' },
}

const wrong: readonly Json[] = ['', -1, 0.25, true, [1], { a: 1 }]

type Spec = { name: string; inputSchema: { properties?: Record<string, unknown>; required?: string[] } }
type Case = {
  tool: string
  field: string
  kind: 'wrong' | 'null' | 'typo' | 'missing'
  input: Record<string, Json>
}

function listCases({ name, inputSchema: { properties = {}, required = [] } }: Spec): Case[] {
  const base = harmless[name]
  if (base === undefined) throw new Error(`say what ${name} can be asked for harmlessly`)
  const of = (kind: Case['kind'], field: string, input: Record<string, Json>): Case => ({
    tool: name,
    field,
    kind,
    input,
  })
  return Object.entries(properties).flatMap(([field, schema]) => {
    const { [field]: _own, ...others } = base
    const inner = isRecord(schema) && isRecord(schema['properties']) ? Object.keys(schema['properties']) : []
    return [
      ...wrong.map((value) => of('wrong', field, { ...base, [field]: value })),
      ...inner.flatMap((part) => [
        ...wrong.map((value) => of('wrong', part, { ...base, [field]: { [part]: value } })),
        of('null', part, { ...base, [field]: { [part]: null } }),
        of('typo', part, { ...base, [field]: { [`${part}s`]: 1 } }),
      ]),
      of('typo', field, { ...base, [`${field}s`]: 1 }),
      ...(required.includes(field)
        ? [of('missing', field, others)]
        : // Left out, it would wait for the usual time.
          name === 'wait_for_mail'
          ? []
          : [of('null', field, { ...base, [field]: null })]),
    ]
  })
}

/** What is wrong with what was said; empty where nothing is. */
function findFaults({ field, kind }: Case, told: Told): string[] {
  if (told === 'let through') return kind === 'wrong' || kind === 'null' ? [] : ['it was let through']
  const { code, message } = told
  // A calling tool says it as a text alone.
  const isInput = code === 'bad_input' || /^There is no field|is missing: |it must be /.test(message)
  return [
    ...(foreignWords.test(message.replaceAll(/"[^"]*"/g, '')) ? ['words of a validator'] : []),
    ...(/[.!?…]$/.test(message.trim()) && message.split(/[.:;] /).length > 1 ? [] : ['no two sentences']),
    ...(kind !== 'null' && isInput && !message.includes(field) ? ['the field is not named'] : []),
    ...(kind === 'typo' && !(isInput && message.includes(`nearest known one is "${field}"`))
      ? ['nearest field']
      : []),
    ...(kind === 'missing' && !(isInput && message.includes(`${field} is missing`))
      ? ['not said to be missing']
      : []),
    // To be told that it is missing is to be told that null means that.
    ...(kind === 'null' && isInput && message.includes(field) && !message.includes(`${field} is missing`)
      ? ['null is not left out']
      : []),
  ]
}

async function tryAll(): Promise<{ cases: Case[]; mcp: Told[]; http: Told[] }> {
  const { served, http } = await openDoors()
  const client = new Client({ name: 'a-client', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`)))
  const { tools } = await client.listTools()
  const cases = (tools as unknown as Spec[]).flatMap(listCases)
  const [mcp, over]: [Told[], Told[]] = [[], []]
  for (const { tool, input } of cases) {
    const used = (await client.callTool({ name: tool, arguments: input })) as CallToolResult
    mcp.push(readTool(used.structuredContent as Json))
    over.push(await http(user, 'POST', `/api/tools/${tool}`, { input }))
  }
  await client.close()
  return { cases, mcp, http: over }
}

test('every refusal is in plain words, names the field and says what to do next, over MCP and HTTP', async () => {
  const all = await tryAll()
  expect(all.cases.length).toBeGreaterThan(300)
  const faults = (['mcp', 'http'] as const).flatMap((door) =>
    all.cases.flatMap((one, at) => {
      const told = all[door][at] ?? 'let through'
      const found = findFaults(one, told)
      const said = told === 'let through' ? told : `${told.code}: ${told.message}`
      return found.length === 0
        ? []
        : [`${door} ${one.tool} ${JSON.stringify(one.input)}: ${found.join(', ')}: ${said}`]
    }),
  )
  expect([...new Set(faults)]).toEqual([])
  const code = (told: Told | undefined): string =>
    told === undefined || told === 'let through' ? '' : told.code
  const different = all.cases.flatMap(({ tool, input }, at) =>
    code(all.mcp[at]) === code(all.http[at])
      ? []
      : [`${tool} ${JSON.stringify(input)}: ${JSON.stringify(all.mcp[at])}, ${JSON.stringify(all.http[at])}`],
  )
  expect(different).toEqual([])
})
