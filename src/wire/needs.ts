/** What waits for a person, in one list. */
import { z } from 'zod'
import { Outcome } from '../model/event.ts'
import { FlowId, SessionId, TurnId } from '../model/id.ts'
import { AnyJson, count, millis } from './scalars.ts'

/** Every kind has the same fields; what does not apply is null or empty. */
export const Need = z
  .object({
    kind: z.enum(['question', 'draft', 'mail', 'failure', 'project']),
    id: z.string().describe('of the question, message or flow; of a project its directory'),
    at: millis,
    title: z.string().describe('what it is about, in one line'),
    agent: z.string().describe('who asks or writes, as people call it'),
    session: SessionId.nullable(),
    turn: TurnId.nullable(),
    flow: FlowId.nullable(),
    cwd: z.string().describe('the directory that it is about'),
    task: z.string().describe('what the agent is working on'),
    request: z.string().describe('what the person or program at the root asked for'),
    path: z.array(z.string()).describe('on whose behalf: from the root down to the one that asks'),
    lastWords: z.string().describe('what the agent said last'),
    tool: z.string().nullable(),
    input: AnyJson.nullable().describe('what exactly would run'),
    text: z.string().describe('the whole message, the error, or what a project could do'),
    to: z.string().nullable().describe('for whom a draft is'),
    version: z.string().nullable().describe('of a draft: `ifUpdatedAt` of its release'),
    outcome: Outcome.nullable(),
    deadline: millis.nullable().describe('without an answer by then it is denied'),
    acts: z
      .array(
        z.enum(['allow', 'allow_session', 'deny', 'release', 'decline', 'accept', 'reply', 'seen', 'trust']),
      )
      .describe('what can be done'),
  })
  .meta({ id: 'Need' })
export type Need = z.infer<typeof Need>

export const Needs = z.object({
  needs: z.array(Need).describe('newest first'),
  total: count.describe('how many there are, also those that are left out'),
})
export type Needs = z.infer<typeof Needs>
