/**
 * Every bound of the runtime (R11) in one place, with its default. What a call, a request or an agent's own limits
 * ask for beyond a maximum is cut to it. A key of the configuration that is itself out of bounds is an error that
 * names it.
 */
import { z } from 'zod'

const count = (value: number) => z.number().int().min(0).default(value)

export const Limits = z.strictObject({
  depthMax: z.number().int().min(0).max(64).default(5),
  callsPerCallerMax: count(10),
  queuedPerSessionMax: count(100),
  descendantsPerFlowMax: count(100),
  /** Agents that doors made. Each is in memory, and costs a little of every list of agents. */
  agentsMadeMax: count(1000),
  callsPerMinute: count(120),
  messagesPerMinute: count(20),
  messageAgeSeconds: count(3600),
  /** Left out: no budget. Zero means zero. */
  flowTokensMax: z.number().int().min(0).optional(),
  /** The same in dollars. */
  flowUsdMax: z.number().min(0).optional(),
  /** Of a day in UTC: for the server, and in a project's file for the project. */
  dayUsdMax: z.number().min(0).optional(),
  callTimeoutMsMax: count(300_000),
  callAgentTimeoutMs: count(30_000),
  subagentTimeoutMs: count(120_000),
  subAgentTimeoutMs: count(300_000),
  inactivityMs: count(900_000),
  turnMsMax: count(3_600_000),
  /** Of agents that we drive: they work for hours, not minutes. */
  drivenTimeoutMs: count(1_800_000),
  drivenTimeoutMsMax: count(14_400_000),
  drivenInactivityMs: count(900_000),
  contextTokens: count(4000),
  resultShownTokens: count(2500),
  taskBytesMax: count(102_400),
  resultBytesMax: count(1_048_576),
  archiveAfterHours: z.number().min(0).default(24),
})
export type Limits = z.infer<typeof Limits>

export const limitsDefault: Limits = Limits.parse({})

/**
 * R11: live turns of one session that are looked at together. An agent's has one that runs and its queue; a client's
 * has as many as it has calls in flight.
 */
export const sessionTurnsMax = 10_000
/** R11: of an agent that a door makes, in UTF-16 units; the prompt in bytes. */
export const agentTitleMax = 200
export const agentDescriptionMax = 2000
export const agentToolsMax = 200
export const agentPromptBytesMax = 32 * 1024
/**
 * R11: a page of a list, a conversation or the log is full once the texts on it have so many UTF-16 units,
 * however few they are. A page has at least one item, so that whoever pages comes to the end.
 */
export const pageUnitsMax = 512 * 1024
/** How many newest entries of a persistent session its own next turn is shown, in tokens. */
export const historyTokensMax = 32_000
/** R11: messages that may wait in one inbox. */
export const inboxMax = 1000
/** R11: notices kept for a session until a turn has them, how many one turn is given, how much of each. */
export const noticesKeptMax = 100
export const noticesShownMax = 10
export const noticePointsMax = 2000
export const iterationsDefault = 16
export const iterationsMax = 64
export const subagentIterationsDefault = 8
export const subagentIterationsMax = 32
export const subagentDepthMax = 1
/** How long a driver may take to stop after its signal aborted, before its turn is ended without it. */
export const stopGraceMs = 2000
/**
 * R11: what an agent may say in one answer, and one with a loop of its own in its whole turn, in UTF-16 units. What
 * is longer is no answer. A turn that does not finish keeps so much of what it had said.
 */
export const answerUnitsMax = 2_000_000
/** The same for the words of what went wrong. */
export const errorUnitsMax = 20_000
/** What one frame of a connected program may hold. It is parsed at once: 2 MiB take some 20 ms. */
export const hostFrameBytesMax = 2 * 1024 * 1024
/** In UTF-16 units: a piece of what it says, why a turn failed, and the title of a session. */
export const hostDeltaMax = 64 * 1024
export const hostErrorMax = 10_000
export const hostTitleMax = 500
export const hostSessionsPerHelloMax = 1000
/** R11: how many tools `allowed_tools` may name; every callee below compares its list with it. */
export const allowedToolsMax = 500
/** R11: how many keywords one filter may have, and how long each may be. */
export const keywordsMax = 100
export const keywordUnitsMax = 200
/** What an `output_schema` may be; checked before anything works on it. */
export const outputSchemaBounds = { bytesMax: 64 * 1024, depthMax: 64 } as const
export const waitSecondsDefault = 50
export const waitSecondsMax = 55

/**
 * What makes a call end when it does: what was asked for, the default of the tool, the callee's own limit, the
 * ceiling of the server, or what was left of the caller's own time.
 */
export const BoundBy = z.enum(['request', 'default', 'callee', 'ceiling', 'caller'])
export type BoundBy = z.infer<typeof BoundBy>
