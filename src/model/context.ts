/** What a child sees of its caller. R8: within its token budget, and without private steps unless asked for. */
import { z } from 'zod'
import { keywordsMax, keywordUnitsMax } from './limits.ts'

export const Role = z.enum(['user', 'assistant', 'tool', 'system'])
export type Role = z.infer<typeof Role>

const rolesMax = 16

export const ContextFilter = z.strictObject({
  last_messages: z.number().int().min(0).optional().describe('this many of the newest messages'),
  roles: z
    .array(Role)
    .max(rolesMax, `a list of at most ${rolesMax} roles`)
    .optional()
    .describe('only these roles; tool: what your tools did'),
  keywords: z
    .array(z.string().min(1).max(keywordUnitsMax, `a keyword of at most ${keywordUnitsMax} characters`))
    .max(keywordsMax, `a list of at most ${keywordsMax} keywords`)
    .optional()
    .describe('only messages that have one of these words'),
  include_summary: z.boolean().default(false).describe('a summary; costs tokens'),
  include_workspace: z.boolean().default(false).describe('what is in your directory'),
  workspace_files: z.array(z.string().min(1)).max(200).optional().describe('paths it should look at'),
  max_age_seconds: z.number().min(0).optional().describe('only messages that are no older'),
})
export type ContextFilter = z.infer<typeof ContextFilter>

/**
 * One entry of a conversation. The tool calls and results of its turn belong to an assistant entry:
 * `hasSteps` says that there are some.
 * They are read from the log only where `roles` asks for `tool`, and are then in `steps`.
 */
export const Entry = z.strictObject({
  n: z.number().int(),
  role: z.enum(['user', 'assistant']),
  at: z.number(),
  text: z.string(),
  tokens: z.number().int(),
  /** The checked sender of a peer's text; null for a user's own words and for the session's own answers. */
  from: z.string().nullable(),
  turn: z.string(),
  hasSteps: z.boolean(),
  steps: z.string().nullable(),
})
export type Entry = z.infer<typeof Entry>

/** What was passed, what was dropped and why. It is in the call's record, not in anybody's context. */
export const Manifest = z.strictObject({
  tokensMax: z.number(),
  tokens: z.number(),
  parts: z.record(z.string(), z.number()),
  /** Null where none were asked for. */
  messages: z
    .strictObject({
      session: z.string(),
      total: z.number(),
      passed: z.array(z.number()),
      /** As asked for: an entry that passed for its steps alone has left its text behind. */
      roles: z.array(Role).nullable(),
      dropped: z.record(z.string(), z.number()),
      /** The turn whose input, being worked on, is passed as the newest message; null where it is not. */
      present: z.string().nullable().optional(),
    })
    .nullable(),
  summary: z.string().nullable(),
  workspace: z.string().nullable(),
})
export type Manifest = z.infer<typeof Manifest>

/** Only these ask for messages; without one of them none pass. */
export const wantsMessages = (filter: ContextFilter): boolean =>
  filter.last_messages !== undefined ||
  filter.roles !== undefined ||
  filter.keywords !== undefined ||
  filter.max_age_seconds !== undefined
