/** What turns need of the runtime beyond the rooms below. */
import type { Moved } from '../../model/fallback.ts'
import type { FlowId, SessionId } from '../../model/id.ts'
import type { Sampling } from '../../model/trace.ts'
import type { Launcher } from '../kernel/launch-port.ts'
import type { DescribeWorkspace, Schemas, Summarise, Tools } from '../kernel/ports.ts'
import type { Runtime as Below } from '../look/runtime.ts'

export type Runtime = Below & {
  tools: Tools
  summarise: Summarise
  describeWorkspace: DescribeWorkspace
  schemas: Schemas
  /** Without it programs are started as they are. */
  launcher?: Launcher
  /** Kinds of artifacts that a subagent may answer with; all of them unless given. */
  artifactKinds?: readonly string[]
  /** Only of a replay: how a turn was moved to another agent then; null where it was not. */
  moves?: (from: string, key: string) => Promise<Moved | null>
  /** False in a replay of a call whose callee was told nothing of how to answer. */
  tells?: boolean
  /** Whether somebody can be asked for leave: otherwise tools under `ask` are refused at once. */
  asks: boolean
  /** Which traces are exported; null or left out: none. */
  sampling?: Sampling | null
  /** Sessions that a claim is under way for, so that many hints make one claim; true: look once more. */
  readonly claiming: Map<SessionId, boolean>
  /** Sessions in which something waits behind a turn of another node, which may be unable to run it. */
  readonly queued: Set<SessionId>
  /** Who waits here for an answer to a question. */
  readonly questionWaiters: Map<string, Set<() => void>>
  /** Traces that flows were begun with, while their roots run here. */
  readonly traces: Map<FlowId, string>
}
