/** The object that `tieline()` returns: what a program can ask of its agents. */
import type { z } from 'zod'
import type { AgentOptions, Tool } from './define.ts'
import type { Agent } from './model/agent.ts'
import type { StoredEvent } from './model/event.ts'
import type { SessionRow } from './model/facts.ts'
import type { SessionId } from './model/id.ts'
import type { Limits } from './model/limits.ts'
import { readInput } from './model/read-input.ts'
import { isRefusal, type Refusal } from './model/refusal.ts'
import type { CallDesk } from './runtime/desk/calls.ts'
import type { Desk } from './runtime/desk/desk.ts'
import type { MailDesk } from './runtime/desk/mail.ts'
import type { QuestionDesk } from './runtime/desk/questions.ts'
import type { SessionDesk, SessionsAsk } from './runtime/desk/sessions.ts'
import type { Explanation } from './wire/explain.ts'
import type { FeedSink } from './runtime/look/feed.ts'
import type { ExportHeader } from './runtime/look/export-log.ts'
import type { Replay } from './runtime/replay/replay.ts'
import type { Run } from './runtime/sessions/run.ts'
import type { AgentView } from './wire/agents.ts'
import type { CallRecord, ListedCall } from './wire/calls.ts'
import type { Delta, Flow, Waits } from './wire/log.ts'
import type { NewMessage, SentMessage, Sessions } from './wire/sessions.ts'

export type TielineOptions = {
  agents?: Record<string, AgentOptions>
  /** A path to `tieline.toml` or `tieline.json`; its agents are added to those in code. */
  config?: string
  /**
   * Where the log is kept. Without it, and without a configuration, it is in memory and gone with the
   * process.
   */
  dataDir?: string
  /** The directory that sessions work in, unless a run names another. */
  cwd?: string
  /**
   * Whether a session also sees the agents of the nearest project (a directory with a `tieline.toml`) at or above
   * its directory, once a person has agreed to that file. A server does this unless it is false.
   */
  projects?: boolean
  limits?: Partial<Limits>
  /** The agent that `subagent` runs; without it the caller's own definition. */
  subagent?: string
  /** Tools of your own, besides the built-in ones; an agent gets them by name. */
  tools?: readonly Tool[]
  /** Whether you answer `line.questions` about tools under `ask`; otherwise such tools are refused. */
  asks?: boolean
  /** Texts that must never reach the log, besides the keys in the environment. */
  secrets?: readonly string[]
  /** Faults that reach no caller, and warnings. */
  onWarning?: (text: string) => void
}

export type RunOptions = {
  cwd?: string
  session?: string
  timeoutMs?: number
  maxTokens?: number
  /** What it may cost in dollars, with all that it calls. */
  maxUsd?: number
  title?: string
}

/**
 * What can be asked of a log, also when nothing runs. An id is that of a call, a session or a flow; for one
 * that is not in the log they throw an UnknownId.
 */
export type RecordedLog = {
  /**
   * Runs recorded turns again without model, tools or network, and compares what they do with what they did.
   */
  replay(id: string): Promise<Replay>
  /** Who waits for whom, what ended what, what was refused: as data, and in words. */
  explain(id: string): Promise<Explanation>
  /** A file of a call, a session or a flow, or of everything, without secrets. */
  export(id: string | null): Promise<{ header: ExportHeader; text: string }>
  events(id: string): Promise<StoredEvent[]>
  calls(limit: number): Promise<ListedCall[]>
  sessions(limit: number): Promise<SessionRow[]>
}

/** Sessions. A Refusal is a value; `explain` puts it into words. */
export type LineSessions = Omit<SessionDesk, 'list' | 'send'> & {
  /** Newest first, one page. */
  list(ask?: SessionsAsk): Promise<Sessions | Refusal>
  send(session: string, message: NewMessage): Promise<SentMessage | Refusal>
}

/** An agent that is made while the line runs, and kept in the log. */
export type NewAgent = {
  name: string
  description?: string
  /** Its prompt. */
  system?: string
  model?: string | null
  /** `call_agent` unless given. */
  tools?: string[] | null
}

/** The agents of code and configuration, and those that are made while the line runs. */
export type LineAgents = {
  list(): Promise<{ agents: AgentView[] }>
  /** By id, then by the name of an agent that was made, then by a configured name. */
  get(idOrName: string): Promise<AgentView | Refusal>
  create(agent: NewAgent): Promise<AgentView | Refusal>
  /** Only what was made can be deleted. */
  delete(id: string): Promise<AgentView | Refusal>
  /** Its main session, made at first use. */
  session(idOrName: string): Promise<{ session: SessionId } | Refusal>
}

/** What was recorded, and what is being recorded. */
export type LineLog = RecordedLog & {
  /** One root request with everything that it caused; null where there is none. */
  flow(id: string): Promise<Flow | null>
  /** Who waits for whom now. */
  waits(): Promise<Waits | Refusal>
  /** The number of the newest event. */
  lastSeq(): number
  /** Every event after `after`, in order, then each as it is committed. The function that it returns ends it. */
  follow(after: number, sessions: readonly SessionId[] | null, sink: FeedSink): () => void
}

/** One line between agents, inside this process. What you ask for through it, you ask for as its user. */
export type Tieline = {
  /** Gives an agent a task: a new session, or the next turn of the one in `options.session`. */
  run(agent: string, task: string, options?: RunOptions): Run
  readonly calls: CallDesk
  readonly sessions: LineSessions
  readonly mail: MailDesk
  readonly questions: QuestionDesk
  readonly agents: LineAgents
  readonly log: LineLog
  /** Text as it streams, of every turn that runs here. */
  onDelta(listener: (delta: Delta) => void): () => void
  /** How many turns run here: those asked for here, and those that an earlier process left. */
  running(): number
  /** Resolves when no turn runs here. */
  idle(): Promise<void>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
  /** @deprecated Use `calls.get`, which answers with a Refusal where there is no such call. */
  call(id: string): Promise<CallRecord | null>
  /** @deprecated Use `agents.get`. */
  agent(name: string): Agent | undefined
}

/** What the desk offers its user, with requests checked as at every other door. */
export function presentDesk(
  { calls, sessions, mail, questions, agents, log }: Desk,
  recorded: RecordedLog,
): Pick<Tieline, 'calls' | 'sessions' | 'mail' | 'questions' | 'agents' | 'log'> {
  return {
    calls: {
      get: (id) => calls.get(id),
      list: (ask) => calls.list(ask),
      steer: (id, message) => calls.steer(id, message),
      open: async (call) =>
        check((await import('./wire/calls.ts')).NewCall, call, (checked) => calls.open(checked)),
    },
    sessions: {
      ...sessions,
      list: (ask = {}) => sessions.list(ask),
      create: async (session) =>
        check((await import('./wire/sessions.ts')).NewSession, session, (checked) =>
          sessions.create(checked),
        ),
      send: async (id, message) =>
        check((await import('./wire/sessions.ts')).NewMessage, message, (checked) =>
          sessions.send(id, checked),
        ),
    },
    mail: {
      ...mail,
      send: async (letter) =>
        check((await import('./wire/mail.ts')).NewMail, letter, (checked) => mail.send(checked)),
    },
    questions,
    agents: {
      list: () => agents.list(),
      get: (idOrName) => agents.get(idOrName),
      delete: (id) => agents.delete(id),
      session: (idOrName) => agents.session(idOrName),
      create: (agent) => agents.create({ description: '', system: '', model: null, tools: null, ...agent }),
    },
    log: {
      ...recorded,
      flow: (id) => log.flow(id),
      waits: () => log.waits(),
      lastSeq: () => log.lastSeq(),
      follow: (after, only, sink) => log.follow(after, only, sink),
    },
  }
}

/** The shapes of requests are loaded when the first one is checked. */
async function check<Schema extends z.ZodType, Answer>(
  schema: Schema,
  given: unknown,
  act: (request: z.output<Schema>) => Promise<Answer>,
): Promise<Answer | Refusal> {
  const read = readInput(schema, given)
  return isRefusal(read) ? read : act(read.data)
}
