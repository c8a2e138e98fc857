/**
 * What arrives at `/mcp` may be anything: it gets an answer that is not a 500, soon, and the door still works
 * afterwards.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { callTool, mcpWorld, textIn } from '../kits/mcp.ts'

const runs = 10_000

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 10 }),
  fc.constantFrom('', '\0', '\ud800', '__proto__', 'ses_', 'call_1', 'coder', 'echo'),
)
const json = fc.oneof(fc.jsonValue({ maxDepth: 2 }), text, fc.integer(), fc.constantFrom(null, true, [], {}))
const method = fc.oneof(
  fc.constantFrom(
    'initialize',
    'tools/list',
    'tools/call',
    'ping',
    'server/discover',
    'notifications/cancelled',
    'notifications/initialized',
    'resources/list',
    'logging/setLevel',
  ),
  text,
)
const tool = fc.oneof(
  fc.constantFrom(
    'sub_agent',
    'call_agent',
    'wait_for_call',
    'read_output',
    'list_agents',
    'send_agent_message',
    'get_session_state',
    'create_agent_session',
    'wait_for_session',
    'list-session',
    'send-message',
    'buffer',
    'shell',
  ),
  text,
)
const input = fc.oneof(
  fc
    .dictionary(
      fc.oneof(
        fc.constantFrom(
          'agent_name',
          'task',
          'agent_id',
          'message',
          'sessionId',
          'session',
          'call_id',
          'cwd',
          'accept',
          'fork',
          'id',
          'context',
          'input',
        ),
        text,
      ),
      json,
      { maxKeys: 4 },
    )
    .map((fields) => ({ ...fields, timeout_seconds: 0 })),
  json,
)
const params = fc.oneof(
  fc.record({ name: tool, arguments: input }),
  fc.record({ name: tool, arguments: input, _meta: json }),
  fc.record({
    protocolVersion: fc.oneof(text, fc.constantFrom('2025-11-25', '2026-07-28')),
    capabilities: json,
    clientInfo: json,
  }),
  json,
)
const message = fc.oneof(
  fc.record({
    jsonrpc: fc.oneof(fc.constant('2.0'), json),
    id: fc.oneof(fc.integer(), text, json),
    method,
    params,
  }),
  fc.record({ jsonrpc: fc.constant('2.0'), method, params }),
  json,
)
const body = fc.oneof(
  { weight: 8, arbitrary: message.map((one) => JSON.stringify(one) ?? '') },
  { weight: 1, arbitrary: text },
  { weight: 1, arbitrary: fc.array(message, { maxLength: 3 }).map((many) => JSON.stringify(many)) },
)
const headers = fc.record(
  {
    'content-type': fc.constantFrom('application/json', 'application/json; charset=utf-8', 'text/plain'),
    accept: fc.constantFrom('application/json, text/event-stream', 'application/json', '*/*'),
    'mcp-protocol-version': fc.constantFrom('2025-11-25', '2026-07-28', '1999-01-01', 'x'),
    'mcp-session-id': fc.string({ maxLength: 30 }).map((given) => given.replaceAll(/[^ -~]/g, '')),
  },
  { requiredKeys: ['content-type', 'accept'] },
)

test(`${runs} messages that nobody should send: no 500, no hang, no fault, and the door still works`, async () => {
  const world = await mcpWorld({ agents: { echo: { script: [{ say: 'echo' }] } } })
  const broken: string[] = []
  try {
    await fc.assert(
      fc.asyncProperty(body, headers, async (payload, given) => {
        const answer = await world.app.inject({ method: 'POST', url: '/mcp', payload, headers: given })
        if (answer.statusCode >= 500)
          broken.push(`${answer.statusCode} ${payload.slice(0, 300)} ${answer.payload.slice(0, 200)}`)
      }),
      { numRuns: runs },
    )
    expect(broken.slice(0, 3)).toEqual([])
    expect(world.faults).toEqual([])
    for (const revision of ['2025-11-25', '2026-07-28'] as const)
      expect(
        textIn(await callTool(await world.connect(revision), 'sub_agent', { agent_name: 'echo', task: 'x' })),
      ).toContain('echo')
  } finally {
    await world.close()
  }
}, 300_000)

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

test.each([
  [
    'deep arguments',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sub_agent","arguments":' +
      `{"agent_name":"echo","task":"x","input":${nested(100_000)}}}}`,
  ],
  ['a deep id', `{"jsonrpc":"2.0","id":${nested(100_000)},"method":"ping"}`],
  ['deep metadata', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${nested(3000)}}}`],
  ['a deep batch', nested(300_000)],
  [
    'more values than are taken',
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":[${'1,'.repeat(300_000)}1]}}`,
  ],
])(
  '%s at /mcp: an error of the protocol that says which limit, and the door still works',
  async (_name, payload) => {
    const world = await mcpWorld({ agents: { echo: { script: [{ say: 'echo' }] } } })
    try {
      const answer = await world.app.inject({
        method: 'POST',
        url: '/mcp',
        payload,
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      })
      expect(answer.statusCode).toBe(400)
      expect(JSON.parse(answer.payload)).toMatchObject({
        jsonrpc: '2.0',
        id: null,
        error: {
          code: -32_600,
          message: expect.stringContaining('at most') as string,
          data: { code: 'bad_input' },
        },
      })
      expect(world.faults).toEqual([])
      expect(
        textIn(
          await callTool(await world.connect('2025-11-25'), 'sub_agent', { agent_name: 'echo', task: 'x' }),
        ),
      ).toContain('echo')
    } finally {
      await world.close()
    }
  },
)
