/** Requests as lists show them: what was asked for, how far it is, and what it has used. */
import { z } from 'zod'
import { Outcome } from '../model/event.ts'
import { FlowId, SessionId, TurnId } from '../model/id.ts'
import { CostView, count, Directory, IdText, millis, pageSize } from './scalars.ts'

const pageMax = 200

/** `asking`: a person must answer. `away`: the program that runs it is not connected. */
export const FlowState = z.enum(['running', 'asking', 'queued', 'away', 'ended'])
export type FlowState = z.infer<typeof FlowState>

export const FlowSummary = z
  .object({
    flow: FlowId,
    turn: TurnId,
    session: SessionId,
    askedBy: z.string().describe('who asked: you, or the program that did'),
    agent: z.string().describe('who was asked, as people call it'),
    title: z.string().describe('the first words of the task'),
    task: z.string(),
    cwd: z.string(),
    state: FlowState,
    waitsFor: z
      .string()
      .describe('what it waits for now, in one sentence; empty where it works or has ended'),
    outcome: Outcome.nullable().describe('how it ended for the one who asked; null while it has not'),
    error: z.string().nullable(),
    lastWords: z.string().describe('what was said last'),
    calls: count,
    failedCalls: count.describe('those that failed, were refused or timed out'),
    tokensUsed: count,
    cost: CostView,
    openedAt: millis,
    endedAt: millis.nullable(),
    durationMs: z.number(),
    seen: z.boolean().describe('a person has seen how it ended'),
  })
  .meta({ id: 'FlowSummary' })
export type FlowSummary = z.infer<typeof FlowSummary>

export const FlowsQuery = z.strictObject({
  state: z
    .enum(['live', 'ended', 'failed', 'unseen', ...FlowState.options])
    .optional()
    .describe('live: not ended; failed: ended, and not well; unseen: failed, and nobody has seen it'),
  agent: IdText.optional().describe('who was asked'),
  project: Directory.optional().describe('a directory: those that work in it or below it'),
  limit: pageSize(pageMax),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, '`next` of the page before')
    .optional()
    .describe('`next` of the page before'),
})
export type FlowsQuery = z.infer<typeof FlowsQuery>
export const Flows = z.object({
  flows: z.array(FlowSummary),
  next: z.string().nullable().describe('`cursor` of the next page, which may be short; null at the end'),
})
export type Flows = z.infer<typeof Flows>

export const FlowSeen = z.object({ flow: FlowId, seen: z.literal(true) })
export type FlowSeen = z.infer<typeof FlowSeen>
