/** Hooks of Claude Code: what it posts, and what it takes from the answer. */
import { z } from 'zod'
import type { Moment } from '../model/wake.ts'

const nameMax = 200
const pathMax = 4096

/** What its events mean here. Others are not asked for, and are answered with nothing. */
export const claudeMoments: Readonly<Record<string, Moment>> = {
  SessionStart: 'started',
  UserPromptSubmit: 'prompted',
  PostToolUse: 'used',
  Stop: 'resting',
}
export const claudeHookPath = '/api/hooks/claude'
/** As it names itself over MCP, so that both doors mean one session. */
export const claudeProgram = 'claude-code'

/** It says more, which is not read. */
export const ClaudeHook = z
  .object({
    session_id: z.string().min(1).max(nameMax).describe("Claude Code's own id of its session"),
    cwd: z.string().min(1).max(pathMax).describe('where it works'),
    hook_event_name: z.string().min(1).max(nameMax).describe('which hook this is'),
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
