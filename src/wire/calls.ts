/** Calls: one agent asks another, and the record of it. */
import { z } from 'zod'
import { ContextFilter, Manifest } from '../model/context.ts'
import { Outcome } from '../model/event.ts'
import { Moved } from '../model/fallback.ts'
import { Json } from '../model/json.ts'
import { allowedToolsMax } from '../model/limits.ts'
import type { Refusal } from '../model/refusal.ts'
import { AnyJson, CostView, count, IdText, millis, pageSize } from './scalars.ts'

const listMax = 500

export const NewCall = z.strictObject({
  from: IdText.optional().describe("the session that calls; without it a session of the client's own"),
  agent: IdText.describe('which agent'),
  task: z
    .string()
    .min(1, 'a text that says what to do')
    .refine((text) => text.isWellFormed(), 'text without halves of surrogate pairs'),
  context: ContextFilter.partial()
    .optional()
    .describe(
      'what it should see of the caller; nothing by default. All but `include_workspace` and `workspace_files` ' +
        "choose from the caller's conversation. For a client's own session they must be left out: its " +
        'conversation is kept by its own program',
    ),
  input: AnyJson.optional(),
  max_context_tokens: z.number().int().min(0).optional(),
  allowed_tools: z
    .array(z.string().max(200))
    .max(allowedToolsMax, `at most ${allowedToolsMax} tools`)
    .optional(),
  allow_nested_calls: z.boolean().optional(),
  timeout_seconds: z.number().min(0).optional(),
  max_tokens: z.number().int().min(0).optional(),
  max_usd: z.number().min(0).optional().describe('dollars that it may cost, with all that it calls'),
  output_schema: AnyJson.optional(),
  background: z.boolean().optional().describe('answer at once with the call_id'),
})
export type NewCall = z.input<typeof NewCall>

/** What the tool `sub_agent` takes. */
export const SubAgentInput = z.strictObject({
  agent_name: z.string().min(1, 'the name of an agent').describe('which agent'),
  task: z
    .string()
    .refine((task) => task.trim() !== '', 'a text that says what to do')
    .describe('what it should do, complete in itself'),
  context: ContextFilter.partial()
    .optional()
    .describe('what it should see of your conversation; nothing by default'),
  input: Json.optional().describe('data for the task'),
  max_context_tokens: z.number().int().min(0).optional().describe('default 4000'),
  allowed_tools: z
    .array(z.string().max(200))
    .max(allowedToolsMax, `a list of at most ${allowedToolsMax} tools`)
    .optional()
    .describe('narrows its tools'),
  allow_nested_calls: z.boolean().default(false).describe('it may call others'),
  timeout_seconds: z.number().min(0).optional().describe('default 300'),
  max_tokens: z.number().int().min(0).optional().describe('its share of the token budget'),
  max_usd: z.number().min(0).optional().describe('dollars it may cost'),
  output_schema: Json.optional().describe('JSON Schema that the output must satisfy'),
  background: z.boolean().default(false).describe('return at once; go on with wait_for_call'),
})
export type SubAgentInput = z.output<typeof SubAgentInput>

/** The result of `sub_agent`: the same keys in every outcome, null while it runs in the background. */
export const CallAnswer = z
  .object({
    agent_name: z.string(),
    success: z.boolean(),
    output: z.string(),
    tool_calls: z.array(z.string()),
    tokens_used: count,
    duration_seconds: z.number(),
    errors: z.array(z.string()),
    call_id: z.string(),
    outcome: Outcome.nullable().describe('null: still running'),
    truncated: z.boolean(),
    notes: z
      .array(z.string())
      .describe('what passed nothing or names something that does not exist, and how to go on'),
    cost_usd: z.number().optional().describe('left out where nothing has a price'),
  })
  .meta({ id: 'CallResult' })
export type CallAnswer = z.infer<typeof CallAnswer>

export const ListedCall = z
  .object({
    call: z.string(),
    flow: z.string().nullable(),
    caller: z.string(),
    callerName: z.string().describe('what people call it'),
    agent: z.string(),
    agentName: z.string(),
    tool: z.string(),
    task: z.string(),
    outcome: Outcome.nullable().describe('null while it is pending'),
    error: z.string().nullable(),
    tokensUsed: count,
    cost: CostView,
    createdAt: millis,
    durationMs: z.number().nullable(),
  })
  .meta({ id: 'ListedCall' })
export type ListedCall = z.infer<typeof ListedCall>

const cursor = z
  .string()
  .regex(/^\d{1,15}$/, '`next` of the page before')
  .optional()
  .describe('`next` of the page before')
export const CallsQuery = z.strictObject({
  session: IdText.optional().describe('calls of this session alone'),
  limit: pageSize(listMax),
  cursor,
})
export const CallsPage = CallsQuery.omit({ session: true })
export const Calls = z.object({
  calls: z.array(ListedCall),
  next: z.string().nullable().describe('`cursor` of the next page, which may be short; null at the end'),
})
export type Calls = z.infer<typeof Calls>

export const CallRecord = z
  .object({
    call: z.string(),
    flow: z.string().nullable(),
    tool: z.string(),
    caller: z.string(),
    callerSession: z.string(),
    target: z.string(),
    targetSession: z.string().nullable(),
    task: z.string(),
    taskHash: z.string(),
    input: AnyJson,
    requested: AnyJson,
    outcome: Outcome.nullable(),
    success: z.boolean(),
    output: z.string(),
    output_preview: z.string(),
    outputBytes: count,
    truncated: z.boolean(),
    errors: z.array(z.string()),
    toolCalls: z.array(z.string()),
    tokensUsed: count,
    cost: CostView,
    iterations: count,
    depth: count,
    path: z.array(z.string()),
    allowedTools: z.array(z.string()).nullable(),
    nested: z.boolean(),
    tokensMax: z.number().nullable(),
    deadline: z.number().nullable(),
    created_at: millis,
    endedAt: z.number().nullable(),
    durationMs: z.number().nullable(),
    context: Manifest.nullable(),
    moved: Moved.optional().describe('another agent did it, because this one could not work'),
    refusal: z
      .custom<Refusal | null>()
      .describe('why it was refused: a code and what belongs to it; null where it was not'),
  })
  .meta({ id: 'Call' })
export type CallRecord = z.infer<typeof CallRecord>

export const NewWord = z.strictObject({ message: z.string().min(1) })

export const Steered = z
  .object({
    call_id: z.string(),
    status: z.enum(['injected', 'queued']).describe('queued: it is given to the callee before it may end'),
  })
  .meta({ id: 'Steered' })
export type Steered = z.infer<typeof Steered>
