/**
 * A tool's answer as MCP clients read it. Some read only the text part, some only the structured one, so each
 * is complete.
 */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Json } from '../../model/json.ts'
import { explain, type Refusal } from '../../model/refusal.ts'
import type { ToolAnswer } from '../../runtime/kernel/ports.ts'

/** Clients cut results at whole lines: one very long line would not be shown at all. */
const lineUnitsMax = 1000
/** A text above this, or of several lines, stands for itself below the other fields. */
const inlineUnitsMax = 200

type Fields = { [name: string]: Json }

export function toToolResult(answer: ToolAnswer): CallToolResult {
  const structured = fieldsOf(answer.value)
  return {
    content: [{ type: 'text', text: renderAnswer(structured) }],
    structuredContent: structured,
    ...(answer.ok ? {} : { isError: true }),
  }
}

/** Objects are what the protocol takes; a tool of somebody else may answer with anything. */
const fieldsOf = (value: Json): Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : { result: value }

/** One line of JSON where it is short; otherwise long texts follow it, with their own line breaks. */
export function renderAnswer(fields: Fields): string {
  const whole = JSON.stringify(fields)
  if (whole.length <= lineUnitsMax && !whole.includes('\\n')) return whole
  const below: [string, string][] = []
  const rest = withoutLong(fields, '', below)
  const head = JSON.stringify(rest)
  const short = head.length <= lineUnitsMax ? head : JSON.stringify(rest, null, 1)
  return [short, ...below.map(([path, text]) => `${path}:\n${brokenLines(text)}`)].join('\n\n')
}

function withoutLong(value: Json, path: string, below: [string, string][]): Json {
  if (typeof value === 'string') {
    if (value.length <= inlineUnitsMax && !value.includes('\n')) return value
    below.push([path, value])
    return '(below)'
  }
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item, at) => withoutLong(item, `${path}[${at}]`, below))
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      withoutLong(field, path === '' ? name : `${path}.${name}`, below),
    ]),
  )
}

/** Broken between code points, and only where a line is longer than clients show. */
const brokenLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => (line.length <= lineUnitsMax ? line : (line.match(/.{1,500}/gsu) ?? []).join('\n')))
    .join('\n')

/** A refusal that comes before the tool, in the tool's own shape: the same keys as always. */
export function refusedAnswer(name: string, input: Fields, refusal: Refusal): ToolAnswer {
  const message = explain(refusal)
  const error = { code: refusal.code, message }
  const given = (field: string): string => (typeof input[field] === 'string' ? input[field] : '')
  const state = (): Fields => ({
    sessionId: given('sessionId'),
    status: null,
    cwd: '',
    isActive: false,
    lastMessage: null,
    queued: 0,
    parent: null,
    depth: 0,
    error,
  })
  const shapes: Record<string, () => Fields> = {
    sub_agent: () => ({
      agent_name: given('agent_name'),
      success: false,
      output: '',
      tool_calls: [],
      tokens_used: 0,
      duration_seconds: 0,
      errors: [message],
      call_id: '',
      outcome: 'refused',
      truncated: false,
    }),
    subagent: () => ({
      success: false,
      summary: '',
      artifacts: [],
      error: message,
      timed_out: false,
      duration_ms: 0,
      truncated: false,
      iterations: 0,
      correlation_id: '',
    }),
    call_agent: () => ({
      agent_id: given('agent_id'),
      success: false,
      response: '',
      error: message,
      outcome: 'refused',
      call_id: '',
      duration_ms: 0,
      call_chain: [],
      truncated: false,
    }),
    wait_for_call: () => ({ call_id: given('call_id'), outcome: 'refused', partial: '', error }),
    send_agent_message: () => ({ messageId: '', status: null, sessionId: given('sessionId'), error }),
    get_session_state: state,
    wait_for_session: state,
    create_agent_session: () => ({ sessionId: '', cwd: '', agent: '', messageId: null, error }),
    'list-session': () => ({ sessions: [], error }),
    'send-message': () => ({
      id: given('id'),
      session: null,
      status: null,
      draft: false,
      buffered: false,
      error,
    }),
    buffer: () => ({ messages: [], total: 0, message: null, accepted: false, instruction: '', error }),
    read_output: () => ({
      call_id: given('call_id'),
      text: '',
      offset: 0,
      next_offset: null,
      total: 0,
      error,
    }),
  }
  const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
  return { ok: false, value: shape?.() ?? { error } }
}
