/** Why something stands still, or ended as it did: who waits for what, as data and in words. */
import { z } from 'zod'
import { millis } from './scalars.ts'

/** What a wait is for. */
export const WaitedFor = z
  .enum(['call', 'wait', 'queue', 'person', 'program', 'tokens', 'server'])
  .describe(
    '`call`: blocked in a call. `wait`: in wait_for_call or wait_for_session. `queue`: not started, because ' +
      'its session works on something else. `person`: a permission question is open. `program`: the program ' +
      'that runs its session is not connected. `tokens`: its budget is held by a call that is still stopping. ' +
      '`server`: nothing runs it now.',
  )
export type WaitedFor = z.infer<typeof WaitedFor>

export const ExplainedWait = z.object({
  agent: z.string(),
  session: z.string(),
  turn: z.string(),
  by: WaitedFor,
  forAgent: z.string().describe('"" where it waits for no agent'),
  forSession: z.string(),
  forTurn: z.string().nullable(),
  call: z.string().nullable(),
  question: z.string().nullable().describe('what a person is asked: an id of `GET /api/questions`'),
  tool: z.string().nullable().describe('the tool that a person is asked about'),
  ahead: z.number().int().describe('how many inputs stand before this one in the queue'),
  task: z.string(),
  since: millis,
  deadline: millis.nullable(),
})
export type ExplainedWait = z.infer<typeof ExplainedWait>

/** A turn that waits for nobody and has not ended: this is where it stands still, or works. */
export const ExplainedTurn = z.object({
  agent: z.string(),
  session: z.string(),
  turn: z.string(),
  doing: z.string(),
  since: millis,
  deadline: millis,
  stopping: z.string().nullable().describe('how it will have ended; it was asked to stop and has not yet'),
  node: z.string().nullable(),
  tokens: z
    .object({ used: z.number(), max: z.number() })
    .nullable()
    .describe('its budget, with what calls below it used or hold; null is no budget'),
})
export type ExplainedTurn = z.infer<typeof ExplainedTurn>

/** One end, and what brought it about: the cause comes first where another end did. */
export const ExplainedEnd = z.object({
  what: z.string(),
  agent: z.string(),
  outcome: z.string(),
  cause: z.string(),
  at: millis,
  because: z.array(z.string()),
})
export type ExplainedEnd = z.infer<typeof ExplainedEnd>

export const ExplainedRefusal = z.object({
  call: z.string(),
  caller: z.string(),
  agent: z.string(),
  tool: z.string(),
  code: z.string(),
  why: z.string(),
  at: millis,
})
export type ExplainedRefusal = z.infer<typeof ExplainedRefusal>

/** A message that nobody works on yet. */
export const ExplainedMessage = z.object({
  message: z.string(),
  from: z.string().nullable(),
  to: z.string().nullable(),
  status: z.enum(['draft', 'buffered', 'ready']),
  why: z.string(),
  since: millis,
})
export type ExplainedMessage = z.infer<typeof ExplainedMessage>

/** What something began with, and how it stands now in one sentence. */
export const ExplainedRoot = z.object({
  flow: z.string().nullable(),
  turn: z.string().nullable().describe('null where nothing was ever run'),
  session: z.string(),
  agent: z.string(),
  state: z.enum(['works', 'waits', 'ended', 'refused']),
  on: WaitedFor.nullable().describe('what it waits for in the end, behind all calls; null where it works'),
  sentence: z.string().describe('why nothing happens, or what happens now'),
})
export type ExplainedRoot = z.infer<typeof ExplainedRoot>

export const Explanation = z
  .object({
    id: z.string().describe('the whole id of what was asked for'),
    kind: z.enum(['call', 'session', 'flow']),
    now: millis,
    over: z.boolean().describe('nothing of it runs or waits for its turn'),
    roots: z.array(ExplainedRoot),
    waits: z.array(ExplainedWait),
    busy: z.array(ExplainedTurn),
    mail: z.array(ExplainedMessage),
    ended: z.array(ExplainedEnd).describe('ends that were no answers'),
    refused: z.array(ExplainedRefusal),
    text: z.string().describe('all of it in words'),
  })
  .meta({ id: 'Explanation' })
export type Explanation = z.infer<typeof Explanation>
