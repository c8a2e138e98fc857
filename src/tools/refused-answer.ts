/** What each tool of ours answers when it is refused: the keys that it always has, with nothing in them. */
import type { z } from 'zod'
import { Outcome } from '../model/event.ts'
import { isRecord, textAt, type Json } from '../model/json.ts'
import { explain, type Refusal } from '../model/refusal.ts'
import { emptyCallAnswer } from '../runtime/calls/sub-agent.ts'
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

const emptyAnswers = {
  sub_agent: emptyCallAnswer,
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
  list_agents: { agents: [] },
  'list-session': { you: '', sessions: [] },
  'send-message': {
    id: '',
    session: null,
    status: null,
    draft: false,
    buffered: false,
    message: null,
    note: null,
  },
  steer_call: { call_id: '', status: null },
  buffer: { messages: [], total: 0, notices: [], instruction: '' },
  wait_for_mail: { messages: [], total: 0, notices: [], instruction: '' },
} satisfies { [Name in ToolName]: z.input<(typeof toolAnswers)[Name]> }

const nothingAccepted = { message: null, accepted: false, instruction: '' }

/** A caller finds again what it asked about. */
const echoed = ['agent_name', 'agent_id', 'call_id', 'sessionId', 'id']

export function refuseTool(name: string, input: unknown, refusal: Refusal): ToolAnswer {
  return isOurTool(name) ? explainNothing(name, input, refusal.code, explain(refusal)) : refused(refusal)
}

/**
 * What a client is told when its own turn was stopped before the tool had answered: in the tool's shape like
 * everything else, because clients check it.
 */
export function completeAnswer(name: string, input: unknown, answer: ToolAnswer): ToolAnswer {
  const error = isRecord(answer.value) ? answer.value['error'] : null
  if (answer.ok || !isOurTool(name) || !isRecord(error)) return answer
  const isWhole = Object.keys(emptyAnswers[name]).every(
    (key) => isRecord(answer.value) && key in answer.value,
  )
  const accepts = name === 'buffer' && isRecord(answer.value) && 'accepted' in answer.value
  return isWhole || accepts
    ? answer
    : nameCall(explainNothing(name, input, textAt(error, 'code'), textAt(error, 'message')), error)
}

/** What it had called by then can be looked up. */
function nameCall(answer: ToolAnswer, error: Json): ToolAnswer {
  const call = textAt(error, 'call_id')
  const field = ['call_id', 'correlation_id'].find((one) => isRecord(answer.value) && one in answer.value)
  if (call === '' || field === undefined || !isRecord(answer.value)) return answer
  return { ...answer, value: { ...answer.value, [field]: call } }
}

const isOurTool = (name: string): name is ToolName => Object.hasOwn(emptyAnswers, name)

function explainNothing(name: ToolName, input: unknown, code: string, message: string): ToolAnswer {
  const accepts = name === 'buffer' && isRecord(input) && (input['accept'] ?? false) !== false
  const empty: { [name: string]: Json } = accepts ? nothingAccepted : emptyAnswers[name]
  const given = echoed.filter((field) => field in empty).map((field) => [field, textAt(input, field)])
  const outcome = Outcome.safeParse(code)
  return {
    ok: false,
    value: {
      ...empty,
      ...Object.fromEntries(given),
      ...('errors' in empty
        ? { errors: [message] }
        : { error: 'error' in empty ? message : { code, message } }),
      ...('outcome' in empty && outcome.success && { outcome: outcome.data }),
      ...('timed_out' in empty && { timed_out: code === 'timed_out' }),
    },
  }
}
