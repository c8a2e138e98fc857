/** The references of tools and HTTP, made from what the server itself says about them. Pure. */

type Schema = {
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
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

const describeType = ({ type, enum: values, anyOf, items }: Schema): string => {
  if (values !== undefined) return values.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
  if (anyOf !== undefined) return [...new Set(anyOf.map(describeType))].join(' or ')
  const name = [type ?? 'any'].flat().join(' or ')
  const item = name === 'array' && items !== undefined ? describeType(items) : 'any'
  return item === 'any' ? name : `${name} of ${item}`
}

function describeMeaning({ description = '', default: usual }: Schema): string {
  const isObvious = usual === undefined || usual === null || usual === false || /default/i.test(description)
  return [description, ...(isObvious ? [] : [`default ${JSON.stringify(usual)}`])]
    .filter((text) => text !== '')
    .join('; ')
}

/** So many levels of fields inside fields are listed. */
const depthMax = 2

/** The fields of an object, or of the items of an array of them, with what leads to them. */
function listInner(name: string, field: Schema): { prefix: string; schema: Schema }[] {
  const ofItems = field.items === undefined ? [] : listInner(`${name}[]`, field.items)
  const here = field.properties === undefined ? [] : [{ prefix: `${name}.`, schema: field }]
  return [...here, ...ofItems, ...(field.anyOf ?? []).flatMap((one) => listInner(name, one))]
}

const listFields = ({ properties = {}, required = [] }: Schema, prefix = '', depth = 1): string[] =>
  Object.entries(properties).flatMap(([key, field]) => {
    const name = `${prefix}${key}`
    const mark = required.includes(key) ? '' : '?'
    const inner = depth < depthMax ? listInner(name, field) : []
    return [
      `| \`${name}\`${mark} | ${cell(describeType(field))} | ${cell(describeMeaning(field))} |`,
      ...inner.flatMap((at) => listFields(at.schema, at.prefix, depth + 1)),
    ]
  })

function renderFields(schema: Schema): string[] {
  const rows = listFields(schema)
  return rows.length === 0 ? [] : ['| field | type | meaning |', '| --- | --- | --- |', ...rows, '']
}

const made = 'This page is made by `npm run docs` from what the server says about itself. Do not edit it.'

const toolsHead = [
  '# Tools',
  '',
  made,
  '',
  'Every door offers these tools under the same names: agents that Tieline runs, MCP, and the OpenCode plugin. ' +
    'Clients have `subagent` only if `[subagent] agent` is set in the configuration. Agents that Tieline runs ' +
    'itself have [tools for files and programs](#tools-for-files-and-programs) besides, and their `sub_agent` takes ' +
    'the filters over a conversation too, which [HTTP](http.md#post-apicalls) lists as fields of `context`.',
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

const ownHead = [
  '## Tools for files and programs',
  '',
  'Only agents that Tieline runs itself have these (the drivers `model` and `scripted`), if their `tools` name ' +
    "them. They work in the session's directory. Other agents bring tools of their own.",
  '',
]

const listTools = (tools: readonly ToolSpec[], level: string): string[] =>
  tools
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, description, input }) => [
      `${level} ${name}`,
      '',
      description.trim(),
      '',
      ...renderFields(input as Schema),
    ])

/** Those that every door offers, and those of Tieline's own agents. */
export const renderTools = (atDoors: readonly ToolSpec[], own: readonly ToolSpec[]): string =>
  [...toolsHead, ...listTools(atDoors, '##'), ...ownHead, ...listTools(own, '###')].join('\n')

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
