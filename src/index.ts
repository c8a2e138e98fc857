/**
 * `tieline`: agents inside your own program. `tieline()` opens a line between them, `define…` describe what runs
 * on it, and everything that their types mention is here too.
 */
export { OptionsError } from './agents.ts'
export { ConfigError } from './config-path.ts'
export {
  defineAgent,
  defineDriver,
  defineTool,
  type AgentOptions,
  type Driver,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type TurnContext,
  type TurnInput,
} from './define.ts'
export { tieline } from './tieline.ts'
export type {
  LineAgents,
  LineLog,
  LineSessions,
  NewAgent,
  RecordedLog,
  RunOptions,
  Tieline,
  TielineOptions,
} from './line.ts'
export { LineClosed } from './runtime/kernel/faults.ts'
export { openLog, type LogOptions, type OpenedLog } from './recorded-log.ts'
export { StoreFault } from './store/directory.ts'
export type { ScriptedFunction, ScriptedTurn } from './adapters/scripted/run-function.ts'
export type { Script } from './adapters/scripted/script.ts'

// What happened, and what was refused.
export type { Agent } from './model/agent.ts'
export type { Entry } from './model/context.ts'
export type {
  Event,
  EventOf,
  EventType,
  Outcome,
  SessionKind,
  StepKind,
  StoredEvent,
  Usage,
} from './model/event.ts'
export type { SessionRow } from './model/facts.ts'
export type { FlowId, Millis, SessionId, TurnId } from './model/id.ts'
export type { Json } from './model/json.ts'
export type { Limits } from './model/limits.ts'
export type { Answer as QuestionAnswer, AnswerScope } from './model/question.ts'
export { explain, isRefusal, type Refusal, type RefusalCode } from './model/refusal.ts'
export { ImportFault, type ExportHeader } from './runtime/look/export-log.ts'
export type { FeedSink } from './runtime/look/feed.ts'
export type { FieldDifference } from './runtime/replay/field-differences.ts'
export type { Difference, Replay, TurnReplay } from './runtime/replay/replay.ts'
export { UnknownId, type ScopeKind } from './runtime/kernel/scope.ts'
export type { MoneyLeft, MoneySteps } from './runtime/kernel/prices-port.ts'
export type { ClientProgram } from './model/client-address.ts'
export type { Moment } from './model/wake.ts'
export type { Steps, ToolAnswer, ToolEffect, TurnOutcome, TurnTask } from './runtime/kernel/ports.ts'
export type { DrivenSteps, SeenStep, Steering } from './runtime/kernel/driven-port.ts'
export type { GivenAnswer } from './runtime/turns/question.ts'
export type { Announced } from './runtime/mail/announce.ts'
export type { Posted, Sent } from './runtime/mail/send.ts'
export type { Run, RunResult } from './runtime/sessions/run.ts'

// What you ask of a line, and what it answers.
export type { CallDesk, RefusedCall } from './runtime/desk/calls.ts'
export type { InboxPlace, MailChange, MailDesk, MailPlace } from './runtime/desk/mail.ts'
export type { QuestionDesk } from './runtime/desk/questions.ts'
export type { SessionDesk, SessionsAsk } from './runtime/desk/sessions.ts'
export type { AgentView } from './wire/agents.ts'
export type { CallAnswer, CallRecord, Calls, ListedCall, NewCall, Steered } from './wire/calls.ts'
export type { FlowState } from './wire/flows.ts'
export type { Delta, Flow, WaitEdge, Waits } from './wire/log.ts'
export type { AcceptedMail, Inbox, MailPage, MessageRecord, NewMail, SentMail } from './wire/mail.ts'
export type { Answered, Question, Questions } from './wire/questions.ts'
export type {
  Archived,
  Cancelled,
  CreatedSession,
  Dispatch,
  ForkedSession,
  History,
  HistoryEntry,
  NewMessage,
  NewSession,
  SentMessage,
  Session,
  Sessions,
  SessionState,
  SessionStatus,
} from './wire/sessions.ts'
export type { ToolSpec } from './wire/tools.ts'
export type {
  ExplainedEnd,
  ExplainedMessage,
  ExplainedRefusal,
  ExplainedRoot,
  ExplainedTurn,
  ExplainedWait,
  Explanation,
  WaitedFor,
} from './wire/explain.ts'
