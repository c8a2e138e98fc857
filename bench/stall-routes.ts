/**
 * For every route the largest requests that it takes. A route that is not named here gets the bodies that are
 * hard for anybody.
 */
import { inletLimits } from '../src/model/bounded-json.ts'
import { bodyUnits, deep, depthDeep, longSchema, taskUnits, texts, wide, widest } from './stall-texts.ts'

/** `session` has the longest conversation; `target` is there to be written to. */
export type Ids = {
  session: string
  target: string
  call: string
  flow: string
  message: string
  agent: string
}
export type Sent = { input: string; path: string; body?: string; headers?: Record<string, string> }

const json = (value: unknown): string => JSON.stringify(value)
const eachText = (units: number, make: (text: string) => unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, json(make(text(units)))]))

/** Whatever a route asks for, these are not it; they must be refused without effort. */
const anyBodies: Record<string, string> = {
  'deep JSON': deep(depthDeep),
  'deep objects': `${'{"a":'.repeat(depthDeep)}1${'}'.repeat(depthDeep)}`,
  'many keys': json(wide(inletLimits.fieldsMax)),
  'one long text': json({ agent: 'x'.repeat(bodyUnits), message: 1 }),
}

const mcpCall = (input: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sub_agent","arguments":${input}}}`

/** By method and route, what is worst for it in particular. */
const bodies = ({ session, target, agent }: Ids): Record<string, Record<string, string>> => ({
  'POST /api/sessions': eachText(taskUnits, (initialMessage) => ({
    cwd: '.',
    agent: 'clerk',
    initialMessage,
  })),
  'POST /api/sessions/{id}/messages': eachText(taskUnits, (message) => ({ message })),
  'POST /api/messages': {
    ...eachText(taskUnits, (message) => ({ message, session: target })),
    ...Object.fromEntries(
      Object.entries(eachText(taskUnits, (message) => ({ message, session: target, draft: true }))).map(
        ([name, body]) => [`${name}, as a draft`, body],
      ),
    ),
  },
  'PATCH /api/messages/{id}': eachText(taskUnits, (message) => ({ message })),
  'POST /api/calls': {
    ...eachText(taskUnits, (task) => ({ agent: 'clerk', task })),
    'letters as input': json({
      agent: 'clerk',
      task: 'x',
      input: texts['random letters']?.(900_000),
      max_context_tokens: 1_000_000,
    }),
    'half keys as input': json({
      agent: 'clerk',
      task: 'x',
      input: texts['half keys']?.(900_000),
      max_context_tokens: 1_000_000,
    }),
    'wide input': json({ agent: 'clerk', task: 'x', input: widest(), max_context_tokens: 1_000_000 }),
    'many keywords': json({
      from: session,
      agent: 'clerk',
      task: 'x',
      context: { keywords: Array.from({ length: 50_000 }, (_, n) => `word${n}`) },
    }),
    'a long schema': json({ agent: 'clerk', task: 'x', output_schema: longSchema(inletLimits.fieldsMax) }),
    'a slow pattern': json({
      agent: 'echo',
      task: `"${'a'.repeat(28)}!"`,
      output_schema: { type: 'string', pattern: '^(a+)+$' },
    }),
    'a result of 1 MiB': json({ agent: 'shout', task: '-sk-' }),
    'a result of letters': json({ agent: 'shout', task: texts['random letters']?.(taskUnits) }),
  },
  'POST /api/tools/{name}': Object.fromEntries(
    Object.entries(eachText(taskUnits, (message) => ({ input: { agent_id: 'clerk', message } }))),
  ),
  'POST /api/sessions/{id}/trace': {
    ...eachText(900_000, (input) => ({ key: 'k', tool: 't', input })),
    'deep input': `{"key":"k","tool":"t","input":${deep(depthDeep)}}`,
  },
  'POST /v1/agents': eachText(900_000, (system) => ({ name: 'made', system })),
  'POST /v1/agents/{id}/messages': eachText(taskUnits, (content) => ({ content, agent })),
  'POST /v1/agents/{id}/messages/stream': eachText(taskUnits, (content) => ({ content })),
  'POST /mcp': {
    ...Object.fromEntries(
      Object.entries(eachText(taskUnits, (task) => ({ agent_name: 'clerk', task }))).map(([name, input]) => [
        name,
        mcpCall(input),
      ]),
    ),
    'deep arguments': mcpCall(deep(depthDeep)),
    'a batch': `[${Array.from({ length: 8000 }, (_, n) => `{"jsonrpc":"2.0","id":${n},"method":"ping"}`).join(',')}]`,
    'the list of tools': '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  },
})

/** Queries that give the longest answers. */
const queries: Record<string, string> = {
  'GET /api/sessions': '?limit=500',
  'GET /api/calls': '?limit=500',
  'GET /api/sessions/{id}/calls': '?limit=500',
  'GET /api/sessions/{id}/messages': '?limit=200',
  'GET /api/sessions/{id}/wait': '?timeoutMs=200',
  'GET /v1/agents': '?limit=1000',
  'GET /v1/agents/{id}/messages': '?limit=1000',
  'GET /api/events': '?after=0',
  'GET /api/tools': '?agent=worker',
}

const mcpHeaders = { accept: 'application/json, text/event-stream' }

/** `route` is as the description of the API has it: `/api/calls/{id}`. */
export function requestsOf(method: string, route: string, ids: Ids): Sent[] {
  const key = `${method} ${route}`
  const id = route.startsWith('/api/calls')
    ? ids.call
    : route.startsWith('/api/flows')
      ? ids.flow
      : route.startsWith('/api/messages')
        ? ids.message
        : route.startsWith('/v1/agents')
          ? // One that is configured has the longest conversation.
            key === 'GET /v1/agents/{id}/messages'
            ? 'shout'
            : ids.agent
          : method === 'POST'
            ? ids.target
            : ids.session
  const path = route.replace('{id}', id).replace('{name}', 'call_agent')
  if (method === 'GET' || method === 'DELETE') {
    const victim = method === 'DELETE' ? route.replace(/\{\w+\}/, 'nobody') : path
    return [
      { input: 'the longest answer', path: `${victim}${queries[key] ?? ''}` },
      { input: 'a long query', path: `${victim}?q=${'%2e'.repeat(4000)}` },
    ]
  }
  return Object.entries({ ...bodies(ids)[key], ...anyBodies }).map(([input, body]) => ({
    input,
    path,
    body,
    ...(route === '/mcp' ? { headers: mcpHeaders } : {}),
  }))
}
