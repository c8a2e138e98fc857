/** The addresses that clients of a release use, each with a request that works on the recorded directory. */
import type { Known } from './scenario.ts'
import type { Shape } from './shape.ts'

/** `as` is a token of the fixture; without it the user's. `depth` bounds how deep the answer is compared. */
export type Address = {
  as?: 'first' | 'second' | 'nobody'
  method: string
  path: string
  body?: unknown
  headers?: Record<string, string>
  frames?: object[]
  depth?: number
}
export type Answered = { status: number; type: string; shape: Shape; code?: string }

const post = (path: string, body: unknown, more: Partial<Address> = {}): Address => ({
  method: 'POST',
  path,
  body,
  ...more,
})
const get = (path: string, more: Partial<Address> = {}): Address => ({ method: 'GET', path, ...more })

export const listAddresses = (known: Known, open: Record<string, string>): Address[] => [
  ...listReads(known),
  ...listRefused(known),
  ...listActs(known, open),
  ...listOtherDoors(known),
]

const listReads = ({ sessions, call, refusedCall, flow, agent }: Known): Address[] => [
  ...['/health', '/api/server', '/api/agents', '/api/sessions', '/api/calls', '/api/waits'].map((path) =>
    get(path),
  ),
  ...['/api/questions', '/api/drafts', '/api/dead-letters', '/api/numbers', '/metrics', '/v1/agents'].map(
    (path) => get(path),
  ),
  get('/openapi.json', { depth: 3 }),
  get('/docs'),
  get('/'),
  get('/api/tools', { as: 'first' }),
  get('/api/tools?agent=planner'),
  get('/api/sessions?active=false&agent=planner&dir=/tmp&limit=2'),
  get(`/api/sessions?parent=${sessions.talk}`),
  ...[
    '',
    '/state',
    '/wait?timeoutMs=100',
    '/messages',
    '/messages?limit=2',
    '/calls',
    '/inbox',
    '/drafts',
  ].map((path) => get(`/api/sessions/${sessions.talk}${path}`)),
  get(`/api/sessions/${sessions.first}`, { as: 'first' }),
  get(`/api/sessions/${sessions.first}/calls`, { as: 'first' }),
  get(`/api/calls/${call}`),
  get(`/api/calls/${refusedCall}`),
  get(`/api/flows/${flow}`),
  get(`/api/flows/${flow}/events?after=0&limit=3`),
  get('/api/messages/draft'),
  get('/api/messages/hello/thread'),
  get(`/v1/agents/${agent}`),
  get(`/v1/agents/${agent}/messages`),
  get('/v1/agents/?limit=1&order=asc'),
]

const listRefused = ({ sessions }: Known): Address[] => [
  get('/api/sessions', { as: 'nobody' }),
  get('/api/server', { as: 'first' }),
  get(`/api/sessions/${sessions.talk}`, { as: 'first' }),
  get('/api/sessions/ses_nothing'),
  get('/api/calls/call_nothing'),
  get('/api/flows/flow_nothing'),
  get('/api/messages/nothing'),
  get('/api/nothing'),
  { method: 'PUT', path: '/api/calls' },
  get('/v1/agents/agent_nothing'),
  post('/v1/agents', { name: '' }),
  post('/api/calls', { agent: 'nobody', task: 'x' }, { as: 'first' }),
  post('/api/calls', { agent: 'coder' }, { as: 'first' }),
  post('/api/questions/question_nothing', { answer: 'allow' }),
  post('/api/sessions', { cwd: '/tmp', agent: 'nobody' }),
  post('/api/messages', { message: 'x', session: 'ses_nothing' }),
]

const listActs = ({ sessions, agent }: Known, open: Record<string, string>): Address[] => [
  post('/api/calls', { agent: 'coder', task: 'a new task' }, { as: 'first' }),
  post('/api/calls', { agent: 'coder', task: 'x' }, { as: 'first', headers: { 'idempotency-key': 'key-1' } }),
  post('/api/calls', { agent: 'coder', task: 'a part', background: true }, { as: 'first' }),
  post('/api/calls', { agent: 'coder', task: 'a task of the user' }),
  post('/api/sessions', { cwd: '/tmp', agent: 'external', title: 'new' }),
  post('/api/sessions', { cwd: '/tmp', agent: 'coder', initialMessage: 'begin' }),
  post(`/api/sessions/${sessions.talk}/messages`, { message: 'again', messageId: 'own-id' }),
  get(`/api/sessions/${sessions.talk}/wait?timeoutMs=20000`),
  post(`/api/sessions/${sessions.fork}/messages`, { message: 'later', delivery: 'buffer' }),
  post(`/api/sessions/${sessions.fork}/messages`, { message: 'x', source: 'agent' }, { as: 'first' }),
  post(`/api/sessions/${sessions.talk}/accept`, { which: 'waits' }),
  get(`/api/sessions/${sessions.talk}/wait?timeoutMs=20000`),
  post(`/api/sessions/${sessions.talk}/fork`, { back: 1 }),
  post(`/api/sessions/${sessions.talk}/cancel`, { all: true }),
  post(`/api/sessions/${sessions.child}/adopt`, { parent: null }),
  post(`/api/sessions/${sessions.first}/trace`, {
    key: 'use-1',
    tool: 'edit',
    ended: { ok: true, output: 'done', startedAt: 1 },
  }),
  { method: 'PATCH', path: '/api/messages/draft', body: { message: 'third version' } },
  post('/api/messages/draft/release', {}),
  post('/api/messages/draft-of-client/release', {}, { as: 'first' }),
  post('/api/messages', { session: sessions.talk, message: 'a letter', id: 'another' }),
  post('/api/messages/another/decline', {}),
  post('/api/messages', { message: 'to a new session' }, { as: 'second' }),
  post('/api/tools/list-session', { input: {} }, { as: 'first' }),
  post('/api/tools/sub_agent', { input: { agent_name: 'coder', task: 'by tool' } }, { as: 'first' }),
  post(`/api/questions/${open['question']}`, { answer: 'allow' }),
  { method: 'DELETE', path: `/api/sessions/${sessions.spare}` },
  post('/v1/agents', { name: 'second keeper', model: 'demo/paced' }),
  post(
    '/v1/agents',
    { name: 'keeper', system: 'You keep.', description: 'keeps', model: 'demo/paced' },
    {
      headers: { 'idempotency-key': 'key-2' },
    },
  ),
  post(`/v1/agents/${agent}/messages`, { input: 'do you remember me?' }),
  post(`/v1/agents/${agent}/messages`, {
    messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }],
  }),
  post(`/v1/agents/${agent}/messages/stream`, { input: 'stream', stream_tokens: true }),
  { method: 'DELETE', path: `/v1/agents/${agent}` },
]

const rpc = (method: string, params: object = {}): Address =>
  post(
    '/mcp',
    { jsonrpc: '2.0', id: 1, method, params },
    { headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' } },
  )

const clientInfo = { name: 'released', version: '1' }
const listOtherDoors = ({ sessions }: Known): Address[] => [
  rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }),
  rpc('tools/list'),
  rpc('tools/call', { name: 'sub_agent', arguments: { agent_name: 'coder', task: 'over MCP' } }),
  { ...rpc('tools/call', { name: 'list-session', arguments: {} }), as: 'second' },
  rpc('tools/call', { name: 'get_session_state', arguments: { sessionId: sessions.talk } }),
  rpc('tools/call', { name: 'call_agent', arguments: { agent_id: 'ses_nothing', message: 'x' } }),
  rpc('nothing'),
  { method: 'SSE', path: `/api/events?after=0&session=${sessions.talk}` },
  {
    method: 'WS',
    path: '/ws',
    frames: [{ type: 'subscribe', sessionIds: [sessions.talk], after: '0' }, { type: 'nothing' }],
  },
  {
    method: 'WS',
    path: '/ws/host',
    frames: [
      { type: 'hello', agent: 'hosted', sessions: [{ id: 'one', cwd: '/tmp' }], tools: ['list-session'] },
      { type: 'session', session: { id: 'two', title: 'two', cwd: '/tmp', parent: 'one' } },
      { type: 'nothing' },
    ],
    body: { message: 'a turn for the program' },
  },
]
