/** The references of tools and HTTP, made from what the server itself says about them. Pure. */

type Schema = {
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  enum?: unknown[]
  anyOf?: Schema[]
  default?: unknown
}
export type ToolSpec = { name: string; description: string; input: unknown }
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema?: Schema }
type Operation = {
  summary?: string
  description?: string
  tags?: string[]
  parameters?: Parameter[]
  requestBody?: { content?: Record<string, { schema?: Schema }> }
  responses?: Record<string, unknown>
}
export type OpenApi = {
  paths: Record<string, Record<string, Operation>>
  components?: { schemas?: Record<string, Schema> }
}

const cell = (text: string): string =>
  text
    .replaceAll('|', String.raw`\|`)
    .replaceAll(/\s+/g, ' ')
    .replaceAll('<', '&lt;')
    .trim()

const describeType = ({ type, enum: values, anyOf }: Schema): string =>
  values !== undefined
    ? values.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
    : anyOf !== undefined
      ? [...new Set(anyOf.map(describeType))].join(' or ')
      : [type ?? 'any'].flat().join(' or ')

function renderFields({ properties = {}, required = [] }: Schema): string[] {
  const rows = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?'
    return `| \`${name}\`${mark} | ${cell(describeType(field))} | ${cell(field.description ?? '')} |`
  })
  return rows.length === 0 ? [] : ['| field | type | meaning |', '| --- | --- | --- |', ...rows, '']
}

const made = 'This page is made by `npm run docs` from what the server says about itself. Do not edit it.'

const toolsHead = [
  '# Tools',
  '',
  made,
  '',
  'Every door offers these tools under the same names: agents that Tieline runs, MCP, and the OpenCode plugin.',
  '',
  '| you want | use |',
  '| --- | --- |',
  '| another agent to do a task, and its result | `sub_agent` |',
  '| a fresh copy of yourself to do a piece of work | `subagent` |',
  '| an answer from an agent that remembers you | `call_agent` |',
  '| to say something without waiting | `send_agent_message` |',
  '| to write to somebody who decides when to read it | `send-message`; they read with `buffer` |',
  '| a session that lives on by itself | `create_agent_session` |',
  '| to go on with a call that takes long | `wait_for_call`, then `read_output` for a long result |',
  '| to know who is there | `list_agents`, `list-session`, `get_session_state` |',
  '',
]

export const renderTools = (tools: readonly ToolSpec[]): string =>
  [
    ...toolsHead,
    ...tools
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap(({ name, description, input }) => [
        `## ${name}`,
        '',
        description.trim(),
        '',
        ...renderFields(input as Schema),
      ]),
  ].join('\n')

const methods = ['get', 'post', 'put', 'patch', 'delete']

function renderOperation(path: string, method: string, operation: Operation): string[] {
  const { summary = '', description = '', parameters = [], requestBody, responses = {} } = operation
  const body = Object.values(requestBody?.content ?? {})[0]?.schema
  const asked = parameters.map(
    ({ name, in: place, required, description: words, schema }) =>
      `| \`${name}\`${required === true ? '' : '?'} | ${place} | ${cell(words ?? schema?.description ?? '')} |`,
  )
  return [
    `### ${method.toUpperCase()} ${path}`,
    '',
    `${summary}.${description === '' ? '' : ` ${description}`}`,
    '',
    ...(asked.length === 0 ? [] : ['| parameter | in | meaning |', '| --- | --- | --- |', ...asked, '']),
    ...(body === undefined ? [] : renderFields(body)),
    `Answers: ${Object.keys(responses).join(', ')}.`,
    '',
  ]
}

export function renderHttp({ paths }: OpenApi): string {
  const groups = new Map<string, string[]>()
  for (const [path, operations] of Object.entries(paths))
    for (const method of methods) {
      const operation = operations[method]
      if (operation === undefined) continue
      const tag = operation.tags?.[0] ?? 'other'
      groups.set(tag, [...(groups.get(tag) ?? []), ...renderOperation(path, method, operation)])
    }
  const intro =
    'The server describes itself at `/openapi.json`, and `/docs` is a page to try it. Errors are ' +
    '`{ error: { code, message, field?, details? } }`; every `POST` takes an `Idempotency-Key`.'
  const parts = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [
    '# HTTP',
    '',
    made,
    '',
    intro,
    '',
    ...parts.flatMap(([tag, lines]) => [`## ${tag}`, '', ...lines]),
  ].join('\n')
}
