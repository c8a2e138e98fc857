/** What a child sees of its caller. R8: within its token budget, and never the caller's private steps unless asked for. */
import { z } from 'zod'

export const Role = z.enum(['user', 'assistant', 'tool', 'system'])
export type Role = z.infer<typeof Role>

export const ContextFilter = z.strictObject({
  last_messages: z.number().int().min(0).optional(),
  roles: z.array(Role).optional(),
  keywords: z.array(z.string().min(1)).optional(),
  include_summary: z.boolean().default(false),
  include_workspace: z.boolean().default(false),
  workspace_files: z.array(z.string().min(1)).max(200).optional(),
  max_age_seconds: z.number().min(0).optional(),
})
export type ContextFilter = z.infer<typeof ContextFilter>

/**
 * One entry of a conversation. Tool calls and results belong to the assistant entry before them: `steps` holds them, with their own token count,
 * and they travel only if `roles` asks for `tool`.
 */
export const Entry = z.strictObject({
  n: z.number().int(),
  role: z.enum(['user', 'assistant']),
  at: z.number(),
  text: z.string(),
  tokens: z.number().int(),
  /** The checked sender of a peer's text; null for a user's own words and for the session's own answers. */
  from: z.string().nullable(),
  steps: z.string().nullable(),
  stepTokens: z.number().int(),
})
export type Entry = z.infer<typeof Entry>

/** What was passed, what was dropped and why. It is in the call's record, not in anybody's context. */
export const Manifest = z.strictObject({
  tokensMax: z.number(),
  tokens: z.number(),
  parts: z.record(z.string(), z.number()),
  messages: z.strictObject({
    session: z.string().nullable(),
    total: z.number(),
    passed: z.array(z.number()),
    withSteps: z.boolean(),
    /** Counts by reason. `filter` counts what `roles` and `keywords` left out of what was looked at. */
    dropped: z.record(z.string(), z.number()),
  }),
  summary: z.string().nullable(),
  workspace: z.string().nullable(),
})
export type Manifest = z.infer<typeof Manifest>

/** Only these ask for messages; without one of them none pass. */
export const wantsMessages = (filter: ContextFilter): boolean =>
  filter.last_messages !== undefined || filter.roles !== undefined || filter.keywords !== undefined || filter.max_age_seconds !== undefined

export const calledBy = (caller: string, task: string, input: string | null): string =>
  `[Called by: ${caller}]\nTask: ${task}${input === null ? '' : `\nInput: ${input}`}`
