/** Ids carry their kind and sort by time. The turn of `call_X` is `turn_X`: one row, no second index. */
import { z } from 'zod'

const id = <K extends string>(kind: K) =>
  z.templateLiteral([z.literal(`${kind}_`), z.string().min(1).max(128)])

export const SessionId = id('ses')
export type SessionId = z.infer<typeof SessionId>
export const TurnId = id('turn')
export type TurnId = z.infer<typeof TurnId>
export const CallId = id('call')
export type CallId = z.infer<typeof CallId>
export const MessageId = z.string().min(1).max(132)
export type MessageId = z.infer<typeof MessageId>
export const FlowId = id('flow')
export type FlowId = z.infer<typeof FlowId>
export const NodeId = id('node')
export type NodeId = z.infer<typeof NodeId>

export type Millis = number

export const toTurnId = (call: CallId): TurnId => `turn_${call.slice(5)}`
/** Where a session that a connected program runs makes its calls between its turns. */
export const callsBelow = (session: SessionId): SessionId => `ses_calls-${session.slice(4)}`
export const toCallId = (turn: TurnId): CallId => `call_${turn.slice(5)}`
export const isSessionId = (text: string): text is SessionId => text.startsWith('ses_') && text.length > 4
export const isCallId = (text: string): text is CallId => text.startsWith('call_') && text.length > 5

/** Under which a cancel that may be tried again is remembered for its session. */
export const cancelKey = (act: string): string => `cancel:${act}`
/** Under which a word to a call that may be tried again is remembered for its session. */
export const steerActKey = (act: string): string => `steer:${act}`
