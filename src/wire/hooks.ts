/** Programs that the user has open: what their hooks post, what they take from the answer, and what is quiet. */
import { z } from 'zod'
import { SessionId } from '../model/id.ts'
import { Moment, quietMsMax } from '../model/wake.ts'
import { IdText, millis } from './scalars.ts'
import { table } from '../model/table.ts'

const nameMax = 200
const pathMax = 4096
const promptMax = 1_000_000

/** What its events mean here; `ended`: the session is closed. Others are answered with nothing. */
export const claudeMoments = table<Moment | 'ended'>({
  SessionStart: 'started',
  UserPromptSubmit: 'prompted',
  PostToolUse: 'used',
  Stop: 'resting',
  SessionEnd: 'ended',
})
export const claudeHookPath = '/api/hooks/claude'
/** As it names itself over MCP, so that both doors mean one session. */
export const claudeProgram = 'claude-code'

/** It says more, which is not read. */
export const ClaudeHook = z
  .object({
    session_id: z.string().min(1).max(nameMax).describe("Claude Code's own id of its session"),
    cwd: z.string().min(1).max(pathMax).describe('where it works'),
    hook_event_name: z.string().min(1).max(nameMax).describe('which hook this is'),
    prompt: z
      .string()
      .max(promptMax)
      .optional()
      .describe('what the user asks: the session is named after the first'),
    reason: z.string().max(nameMax).optional().describe('why the session ends'),
  })
  .meta({ id: 'ClaudeHook' })
export type ClaudeHook = z.infer<typeof ClaudeHook>

export const ClaudeHookAnswer = z
  .object({
    hookSpecificOutput: z
      .object({ hookEventName: z.string(), additionalContext: z.string() })
      .optional()
      .describe('what the model reads with this event'),
    decision: z.literal('block').optional().describe('do not stop now'),
    reason: z.string().optional().describe('what the model reads when it goes on'),
  })
  .meta({ id: 'ClaudeHookAnswer' })
export type ClaudeHookAnswer = z.infer<typeof ClaudeHookAnswer>

/** How long a waiter is held before it asks again. */
export const waiterMsMax = 240_000

/** Of a connected program that tells its own sessions. */
export const NewsAsk = z.strictObject({ moment: Moment.describe('what the session does just now') })
export const SessionNews = z
  .object({
    text: z.string().describe('what its model should read now; empty where there is nothing to say'),
    status: z
      .enum(['told', 'nothing', 'replaced'])
      .describe('replaced: somebody else waits for this session now'),
  })
  .meta({ id: 'SessionNews' })
export type SessionNews = z.infer<typeof SessionNews>

export const Quiet = z
  .object({
    all: millis.nullable().describe('no session is told of anything until then'),
    sessions: z.array(z.object({ session: SessionId, until: millis })),
  })
  .meta({ id: 'Quiet' })
export type Quiet = z.infer<typeof Quiet>

export const NewQuiet = z.strictObject({
  session: IdText.optional().describe('this one only; all without it'),
  ms: z.number().int().min(0).max(quietMsMax).describe('for so long; 0 ends it'),
})
export type NewQuiet = z.infer<typeof NewQuiet>
