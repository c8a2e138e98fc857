/**
 * `tieline/client`: one typed client for every route of a server, in Node and in browsers. A refusal is thrown
 * as a TielineError, a server that does not answer as a ServerUnreachable.
 */
export {
  tielineClient,
  type ClientOptions,
  type IfUpdatedAt,
  type MailRoutes,
  type SessionRoutes,
  type SessionsAsk,
  type TielineClient,
  type ToolRoutes,
} from './client.ts'
export type { EventsAsk, OpenSocket } from './event-stream.ts'
export type { HostAsk, HostConnection, HostSession, HostTurn, TakenSession } from './host.ts'
export type { HostOpening, HostTask } from '../wire/host.ts'
export type { RunAnswer } from './host-frames.ts'
export type {
  LettaAgent,
  LettaAnswer,
  LettaInput,
  LettaMessage,
  LettaRoutes,
  NewLettaAgent,
} from './letta-routes.ts'
export type { Fetch, Once } from './request.ts'
export type { Surroundings } from './surroundings.ts'
export { ServerUnreachable, TielineError, type ErrorBody, type ErrorCode } from './tieline-error.ts'

// What routes take and answer.
export type { SessionId, TurnId } from '../model/id.ts'
export type { Json } from '../model/json.ts'
export type { Refusal, RefusalCode } from '../model/refusal.ts'
export type { AgentView } from '../wire/agents.ts'
export type { ProjectView } from '../wire/projects.ts'
export type { CallAnswer, CallRecord, Calls, ListedCall, NewCall, Steered } from '../wire/calls.ts'
export type {
  ExplainedEnd,
  ExplainedMessage,
  ExplainedRefusal,
  ExplainedRoot,
  ExplainedTurn,
  ExplainedWait,
  Explanation,
  WaitedFor,
} from '../wire/explain.ts'
export type { Delta, ExportedLog, Flow, FlowEvents, StreamedEvent, WaitEdge } from '../wire/log.ts'
export type { FlowSeen, Flows, FlowsQuery, FlowState, FlowSummary } from '../wire/flows.ts'
export type { Moment } from '../model/wake.ts'
export type { NewQuiet, Quiet, SessionNews } from '../wire/hooks.ts'
export type { Need } from '../wire/needs.ts'
export type { AcceptedMail, Inbox, MailPage, MessageRecord, NewMail, SentMail } from '../wire/mail.ts'
export type { Answered, NewAnswer, Question } from '../wire/questions.ts'
export type { Health, NodeView, Numbers, ServerView } from '../wire/server.ts'
export type {
  Archived,
  Cancelled,
  CreatedSession,
  ForkedSession,
  History,
  HistoryEntry,
  NewMessage,
  NewSession,
  SentMessage,
  Session,
  Sessions,
  SessionState,
} from '../wire/sessions.ts'
export type { NewTrace, Recorded, ToolSpec, TracedTool, UsedTool } from '../wire/tools.ts'
