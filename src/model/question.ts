/** What is recorded of a permission question and of its answer. */
import { z } from 'zod'
import { FlowId } from './id.ts'
import { Json } from './json.ts'

export const Answer = z.enum(['allow', 'deny'])
export type Answer = z.infer<typeof Answer>
export const AnswerScope = z.enum(['once', 'session'])
export type AnswerScope = z.infer<typeof AnswerScope>

export const asked = {
  question: z.string(),
  key: z.string(),
  agent: z.string(),
  tool: z.string(),
  input: Json,
  path: z.array(z.string()),
  flow: FlowId,
  deadline: z.number(),
}

/**
 * `by` is who answered, or why nobody did; `reason` is what a person said about it. With the scope `session`
 * the answer also counts for later questions of the session about the same `tool`.
 */
export const answered = {
  question: z.string(),
  answer: Answer,
  by: z.string(),
  reason: z.string().optional(),
  scope: AnswerScope.optional(),
  tool: z.string().optional(),
}
