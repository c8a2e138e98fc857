/** The log as it is read from outside: events, flows, and who waits for whom. */
import { z } from 'zod'
import { Outcome, type Event } from '../model/event.ts'
import { CallId, FlowId, SessionId, TurnId } from '../model/id.ts'
import { CallRecord } from './calls.ts'
import { CostView, count, IdText, millis } from './scalars.ts'
import { FlowState } from './flows.ts'

const eventsMax = 1000

/** One event as it reaches a client; `seq` is a cursor that can be handed back. */
export const StreamedEvent = z
  .object({
    seq: z.string(),
    at: millis,
    sessionId: SessionId,
    event: z.custom<Event>().describe('what happened: its `type`, and what belongs to it'),
  })
  .meta({ id: 'Event' })
export type StreamedEvent = z.infer<typeof StreamedEvent>

/** A piece of a turn as it happens; epoch, step and offset tell a rerun from a continuation. */
export type Delta = {
  session: SessionId
  turn: TurnId
  epoch: number
  step: number
  offset: number
  text: string
  /** What stands in the way of this step just now, such as a provider that is asked again. Text ends it. */
  remark?: string
}

export const FlowEventsQuery = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,16}$/, 'the `next` of the page before')
    .transform(Number)
    .optional()
    .describe('`next` of the page before; without it from the beginning'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .transform((limit) => Math.min(limit, eventsMax))
    .default(eventsMax)
    .describe(`at most ${eventsMax}`),
})
export const FlowEvents = z.object({
  events: z.array(StreamedEvent),
  next: z.string().nullable().describe('`after` of the next page; a page may be empty and not the last'),
  upTo: z.string().describe('the newest event of the log when this was read: go on from there on the stream'),
})
export type FlowEvents = z.infer<typeof FlowEvents>

export const Flow = z
  .object({
    flow: FlowId,
    root: z.object({
      turn: TurnId,
      session: SessionId,
      agent: z.string(),
      askedBy: z.string().describe('who asked: you, or the program that did'),
      title: z.string().describe('the first words of the task'),
      task: z.string(),
      cwd: z.string(),
      text: z.string(),
      outcome: Outcome.nullable().describe("of a client's request: of what it asked for"),
      error: z.string().nullable(),
      output: z.string(),
      openedAt: millis,
      endedAt: millis.nullable(),
    }),
    state: FlowState,
    waitsFor: z.string().describe('what it waits for now, in one sentence'),
    calls: z.array(CallRecord),
    tokensUsed: count.describe('of everything that it caused, also of what runs or was cancelled'),
    cost: CostView,
    messages: z
      .array(
        z.object({
          turn: TurnId,
          session: SessionId,
          agent: z.string(),
          from: SessionId.nullable(),
          text: z.string(),
          outcome: Outcome.nullable(),
          tokensUsed: count,
          cost: CostView,
          openedAt: millis,
        }),
      )
      .describe('what agents wrote to each other in it: each runs a turn that nobody waits for'),
    durationMs: z.number(),
  })
  .meta({ id: 'Flow' })
export type Flow = z.infer<typeof Flow>

export const ExportQuery = z.strictObject({
  id: IdText.optional().describe(
    'a call, a session or a flow, a part of its id, or `last`; without it everything',
  ),
})
export const ExportedLog = z.object({
  header: z.looseObject({
    of: z.string().nullable(),
    events: count,
    turns: count,
    contextTurns: count,
    redacted: count,
  }),
  text: z.string().describe('the file: a header and one line of JSON for each event'),
})
export type ExportedLog = z.infer<typeof ExportedLog>

export const WaitEdge = z.object({
  waiter: SessionId,
  waiterAgent: z.string(),
  target: SessionId,
  targetAgent: z.string(),
  kind: z.enum(['call', 'wait']),
  call: CallId.nullable(),
  since: millis,
  until: millis,
})
export type WaitEdge = z.infer<typeof WaitEdge>
export const Waits = z.object({ waits: z.array(WaitEdge) })
export type Waits = z.infer<typeof Waits>
