/** Permission questions: a tool under an agent's `ask` waits for a person. */
import { z } from 'zod'
import { Answer, AnswerScope } from '../model/question.ts'
import { FlowId, SessionId, TurnId } from '../model/id.ts'
import { AnyJson, millis } from './scalars.ts'

export const Question = z
  .object({
    id: z.string(),
    session: SessionId,
    turn: TurnId,
    flow: FlowId,
    agent: z.string(),
    tool: z.string(),
    input: AnyJson,
    path: z.array(z.string()).describe('on whose behalf: the agents from the root down to the one that asks'),
    askedAt: millis,
    deadline: millis,
  })
  .meta({ id: 'Question' })
export type Question = z.infer<typeof Question>

export const Questions = z.object({ questions: z.array(Question) })
export type Questions = z.infer<typeof Questions>

export const NewAnswer = z.strictObject({
  answer: Answer,
  scope: AnswerScope.optional().describe('session: also for what the session asks later about the same tool'),
  reason: z
    .string()
    .max(2000)
    .refine((text) => text.isWellFormed(), 'text without halves of surrogate pairs')
    .optional()
    .describe('why it is denied; the model reads it'),
})
export type NewAnswer = z.infer<typeof NewAnswer>
export const Answered = z.object({ question: z.string(), answer: Answer })
export type Answered = z.infer<typeof Answered>
