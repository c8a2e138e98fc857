/** Tools by name, for programs that offer them to a model of their own; and what each of ours answers with. */
import { z } from 'zod'
import { CallAnswer, Steered } from './calls.ts'
import { MessageRecord } from './mail.ts'
import { AnyJson, count, IdText, PlanWindow } from './scalars.ts'
import { Dispatch, Session, SessionState } from './sessions.ts'

/** A tool as a model is shown it; `input` is its JSON Schema. */
export const ToolSpec = z.object({
  name: z.string(),
  description: z.string(),
  input: AnyJson.describe('its JSON Schema'),
})
export type ToolSpec = z.infer<typeof ToolSpec>
export const Tools = z.object({ tools: z.array(ToolSpec) })
export type Tools = z.infer<typeof Tools>

const session = IdText.optional().describe(
  "the session that uses it; without it the token's own, or a session of the client's",
)
export const ToolsQuery = z.strictObject({
  session,
  agent: IdText.optional().describe('instead: what any session of this agent has'),
})

export const ToolPath = z.strictObject({ name: z.string().min(1).max(100) })
export const ToolUse = z.strictObject({ input: AnyJson, session })
export const UsedTool = z.object({
  ok: z.boolean().describe('false marks a failure that the model should see as one'),
  value: AnyJson,
})
export type UsedTool = z.infer<typeof UsedTool>

/** One use of a tool of the client's own. Without `ended` it has just begun. */
export const TracedTool = z.strictObject({
  key: IdText.describe("the program's own id of the use"),
  tool: IdText,
  input: AnyJson.default(null),
  ended: z
    .strictObject({
      ok: z.boolean(),
      output: AnyJson.default(null),
      startedAt: z.number().int().min(0).describe('milliseconds since 1970'),
    })
    .nullable()
    .default(null)
    .describe('null when it has just begun'),
})
export type TracedTool = z.infer<typeof TracedTool>
/** As a client sends it. */
export type NewTrace = z.input<typeof TracedTool>
export const Recorded = z.object({ recorded: z.boolean() })
export type Recorded = z.infer<typeof Recorded>

/** Null, or not there, unless the tool refused. */
const error = z.object({ code: z.string(), message: z.string() }).nullish()
const artifact = z.object({ kind: z.enum(['note', 'path', 'diff', 'json']), value: z.string() })
const listed = Session.pick({
  id: true,
  agent: true,
  title: true,
  cwd: true,
  status: true,
  active: true,
  parent: true,
  createdAt: true,
  updatedAt: true,
  buffered: true,
  presence: true,
  wakeable: true,
})

/** An agent that may be called. */
export const CallableAgent = z.object({
  name: z.string(),
  description: z.string(),
  driver: z.string(),
  status: z.enum(['ready', 'busy', 'unavailable']),
  reason: z.string().nullable().describe('why it is unavailable'),
  metered: z.boolean().describe('whether its tokens are known rather than estimated from what is seen'),
  project: z.string().nullable().describe('null: of the whole server'),
  limit: z.string().exactOptional().describe('a limit that it has reached, and until when'),
  windows: z.array(PlanWindow).exactOptional(),
})
export type CallableAgent = z.infer<typeof CallableAgent>

/** What each tool of ours answers with, also when it refuses. */
export const toolAnswers = {
  sub_agent: CallAnswer,
  subagent: z.object({
    success: z.boolean(),
    summary: z.string(),
    artifacts: z.array(artifact),
    error: z.string().nullable(),
    timed_out: z.boolean(),
    duration_ms: z.number().min(0),
    truncated: z.boolean(),
    iterations: count,
    correlation_id: z.string(),
  }),
  call_agent: z.object({
    agent_id: z.string(),
    success: z.boolean(),
    response: z.string(),
    error: z.string().nullable(),
    outcome: CallAnswer.shape.outcome,
    call_id: z.string(),
    duration_ms: z.number().min(0),
    call_chain: z.array(z.string()),
    truncated: z.boolean(),
  }),
  /** The call's own result, or what it has said so far. */
  wait_for_call: CallAnswer.partial().extend({
    call_id: z.string(),
    outcome: CallAnswer.shape.outcome,
    partial: z.string().optional(),
    next: z.string().optional(),
    error,
  }),
  read_output: z.object({
    call_id: z.string(),
    text: z.string(),
    offset: count,
    next_offset: count.nullable(),
    total: count,
    error,
  }),
  send_agent_message: z.object({
    messageId: z.string(),
    status: Dispatch.nullable(),
    sessionId: z.string(),
    error,
  }),
  get_session_state: SessionState.extend({
    sessionId: z.string(),
    status: SessionState.shape.status.nullable(),
    error,
  }),
  create_agent_session: z.object({
    sessionId: z.string(),
    cwd: z.string(),
    agent: z.string(),
    messageId: z.string().nullable(),
    error,
  }),
  wait_for_session: SessionState.extend({
    sessionId: z.string(),
    status: SessionState.shape.status.nullable(),
    next: z.string().nullish(),
    error,
  }),
  steer_call: z.object({ call_id: z.string(), status: Steered.shape.status.nullable(), error }),
  list_agents: z.object({ agents: z.array(CallableAgent), error }),
  'list-session': z.object({ you: z.string(), sessions: z.array(listed), error }),
  'send-message': z.object({
    id: z.string(),
    session: z.string().nullable(),
    status: z.string().nullable(),
    draft: z.boolean(),
    buffered: z.boolean(),
    message: z.string().nullish(),
    note: z.string().nullish(),
    error,
  }),
  /** A list, or one message that was accepted. */
  buffer: z.object({
    messages: z.array(MessageRecord).optional(),
    total: count.optional(),
    notices: z.array(z.string()).optional(),
    message: MessageRecord.nullish(),
    accepted: z.boolean().optional(),
    instruction: z.string(),
    error,
  }),
  wait_for_mail: z.object({
    messages: z.array(MessageRecord),
    total: count,
    notices: z.array(z.string()),
    instruction: z.string(),
    error,
  }),
} as const
export type ToolName = keyof typeof toolAnswers
