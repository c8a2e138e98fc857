/** What each tool of ours answers when it is refused: the keys that it always has, with nothing in them. */
import type { z } from 'zod'
import { isRecord, textAt, type Json } from '../model/json.ts'
import { explain, type Refusal } from '../model/refusal.ts'
import type { ToolAnswer } from '../runtime/kernel/ports.ts'
import type { toolAnswers, ToolName } from '../wire/tools.ts'
import { refused } from './answer.ts'

const session = {
  sessionId: '',
  status: null,
  cwd: '',
  isActive: false,
  lastMessage: null,
  queued: 0,
  parent: null,
  depth: 0,
}

export const emptyAnswers = {
  sub_agent: {
    agent_name: '',
    success: false,
    output: '',
    tool_calls: [],
    tokens_used: 0,
    duration_seconds: 0,
    errors: [],
    call_id: '',
    outcome: 'refused',
    truncated: false,
  },
  subagent: {
    success: false,
    summary: '',
    artifacts: [],
    error: null,
    timed_out: false,
    duration_ms: 0,
    truncated: false,
    iterations: 0,
    correlation_id: '',
  },
  call_agent: {
    agent_id: '',
    success: false,
    response: '',
    error: null,
    outcome: 'refused',
    call_id: '',
    duration_ms: 0,
    call_chain: [],
    truncated: false,
  },
  wait_for_call: { call_id: '', outcome: 'refused', partial: '' },
  read_output: { call_id: '', text: '', offset: 0, next_offset: null, total: 0 },
  send_agent_message: { messageId: '', status: null, sessionId: '' },
  get_session_state: session,
  wait_for_session: session,
  create_agent_session: { sessionId: '', cwd: '', agent: '', messageId: null },
  'list-session': { sessions: [] },
  'send-message': { id: '', session: null, status: null, draft: false, buffered: false },
  buffer: { messages: [], total: 0, notices: [], instruction: '' },
} satisfies { [Name in ToolName]: z.input<(typeof toolAnswers)[Name]> }

const nothingAccepted = { message: null, accepted: false, instruction: '' }

/** A caller finds again what it asked about. */
const echoed = ['agent_name', 'agent_id', 'call_id', 'sessionId', 'id']

export function refuseTool(name: string, input: unknown, refusal: Refusal): ToolAnswer {
  if (!Object.hasOwn(emptyAnswers, name)) return refused(refusal)
  const accepts = name === 'buffer' && isRecord(input) && (input['accept'] ?? false) !== false
  const empty: { [name: string]: Json } = accepts ? nothingAccepted : emptyAnswers[name as ToolName]
  const message = explain(refusal)
  const given = echoed.filter((field) => field in empty).map((field) => [field, textAt(input, field)])
  const why =
    'errors' in empty
      ? { errors: [message] }
      : { error: 'error' in empty ? message : { code: refusal.code, message } }
  return { ok: false, value: { ...empty, ...Object.fromEntries(given), ...why } }
}
