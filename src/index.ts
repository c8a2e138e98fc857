/** What the package offers, one by one. */
export { OptionsError, type AgentOptions } from './agents.ts'
export {
  openLog,
  tieline,
  type LogOptions,
  type RecordedLog,
  type RunOptions,
  type Tieline,
  type TielineOptions,
} from './tieline.ts'
export { ConfigError } from './config.ts'
export { StoreFault } from './store/directory.ts'
export type { ScriptedFunction, ScriptedTurn } from './adapters/scripted/run-function.ts'
export type { Script } from './adapters/scripted/script.ts'
export type { Agent } from './model/agent.ts'
export type { Event, EventOf, EventType, Outcome, StoredEvent, Usage } from './model/event.ts'
export type { Limits } from './model/limits.ts'
export { explain, type Refusal, type RefusalCode } from './model/refusal.ts'
export type { Explanation } from './runtime/look/explain.ts'
export { ImportFault, type ExportHeader } from './runtime/look/export-log.ts'
export type { CallRecord } from './wire/calls.ts'
export type { Delta } from './wire/log.ts'
export type { Replay } from './runtime/replay/replay.ts'
export { UnknownId } from './runtime/kernel/scope.ts'
export type {
  Driver,
  Steps,
  Tool,
  ToolAnswer,
  ToolContext,
  TurnInput,
  TurnOutcome,
} from './runtime/kernel/ports.ts'
export type { Run, RunResult } from './runtime/sessions/run.ts'
