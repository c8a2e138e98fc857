/**
 * What each tool answers with, as JSON Schema for MCP clients. More fields may come, so nothing here forbids
 * others.
 */
import { Outcome } from '../../model/event.ts'

export type Schema = { type: 'object'; properties: Record<string, object>; required: string[] }

const text = { type: 'string' }
const flag = { type: 'boolean' }
const count = { type: 'integer', minimum: 0 }
const maybe = (schema: { type: string }): object => ({ ...schema, type: [schema.type, 'null'] })
const listOf = (items: object): object => ({ type: 'array', items })
const oneOf = (...names: string[]): { type: string; enum: string[] } => ({ type: 'string', enum: names })

/** Null while a call runs. */
const outcome = {
  type: ['string', 'null'],
  enum: [...Outcome.options, null],
  description: 'null: still running',
}
/** Null, or not there, unless the tool refused. */
const error = {
  type: ['object', 'null'],
  properties: { code: text, message: text },
  required: ['code', 'message'],
}

const object = (properties: Record<string, object>, optional: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})

const subAgent = {
  agent_name: text,
  success: flag,
  output: text,
  tool_calls: listOf(text),
  tokens_used: count,
  duration_seconds: { type: 'number', minimum: 0 },
  errors: listOf(text),
  call_id: text,
  outcome,
  truncated: flag,
}
const state = {
  sessionId: text,
  status: oneOf('idle', 'streaming', 'error'),
  cwd: text,
  isActive: flag,
  lastMessage: {
    type: ['object', 'null'],
    properties: { role: text, content: text, timestamp: text },
    required: ['role', 'content', 'timestamp'],
  },
  queued: count,
  parent: maybe(text),
  depth: count,
}

const message = object({
  id: text,
  created_at: text,
  updated_at: text,
  from: maybe(text),
  to: maybe(text),
  'in-reply-to': maybe(text),
  draft: flag,
  buffered: flag,
  accepted_at: maybe(text),
  accepted_by: maybe(text),
  initial: text,
  message: text,
  source: text,
  status: text,
})

export const outputSchemas: Readonly<Record<string, Schema>> = {
  sub_agent: object(subAgent),
  subagent: object({
    success: flag,
    summary: text,
    artifacts: listOf(object({ kind: oneOf('note', 'path', 'diff', 'json'), value: text })),
    error: maybe(text),
    timed_out: flag,
    duration_ms: { type: 'number', minimum: 0 },
    truncated: flag,
    iterations: count,
    correlation_id: text,
  }),
  call_agent: object({
    agent_id: text,
    success: flag,
    response: text,
    error: maybe(text),
    outcome,
    call_id: text,
    duration_ms: { type: 'number', minimum: 0 },
    call_chain: listOf(text),
    truncated: flag,
  }),
  // The call's own result, or what it has said so far.
  wait_for_call: object({ ...subAgent, partial: text, next: text, error }, [
    ...Object.keys(subAgent).filter((name) => name !== 'call_id' && name !== 'outcome'),
    'partial',
    'next',
    'error',
  ]),
  read_output: object(
    { call_id: text, text, offset: count, next_offset: maybe(count), total: count, error },
    ['error'],
  ),
  send_agent_message: object(
    { messageId: text, status: oneOf('dispatched', 'queued', 'buffered'), sessionId: text, error },
    ['error'],
  ),
  get_session_state: object({ ...state, error }, ['error']),
  'list-session': object(
    {
      sessions: listOf(
        object({
          id: text,
          agent: text,
          title: text,
          cwd: text,
          status: text,
          active: flag,
          parent: maybe(text),
          buffered: count,
        }),
      ),
      error,
    },
    ['error'],
  ),
  'send-message': object(
    { id: text, session: maybe(text), status: maybe(text), draft: flag, buffered: flag, error },
    ['error'],
  ),
  // A list, or one message that was accepted.
  buffer: object(
    {
      messages: listOf(message),
      total: count,
      message: { ...message, type: ['object', 'null'] },
      accepted: flag,
      instruction: text,
      error,
    },
    ['messages', 'total', 'message', 'accepted', 'error'],
  ),
  create_agent_session: object({ sessionId: text, cwd: text, agent: text, messageId: maybe(text), error }, [
    'error',
  ]),
  wait_for_session: object({ ...state, next: maybe(text), error }, ['next', 'error']),
}
