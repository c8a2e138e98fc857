/** What the runtime needs from outside: small ports, their contracts in the comments. */
import type { z } from 'zod'
import type { Agent } from '../../model/agent.ts'
import type { ContextFilter, Entry } from '../../model/context.ts'
import type { Outcome, StepKind, Usage } from '../../model/event.ts'
import type { SessionRow, TurnRow } from '../../model/facts.ts'
import type { Boundary } from '../../model/frame.ts'
import type { CallId, Millis, SessionId, TurnId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import type { Spent } from '../../model/money.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { UntrustedProject } from '../../model/untrusted.ts'
import type { DrivenSteps, Hindrances, Placed, SteerActs, Steering } from './driven-port.ts'
import type { Command, Launch } from './launch-port.ts'
import type { MailActs } from './mail-port.ts'
import type { MoneySteps } from './prices-port.ts'
import type { Dispatch, SessionState } from '../../wire/sessions.ts'
import type { CallableAgent, ToolSpec } from '../../wire/tools.ts'
/** `read` may be repeated after a crash; `write` may not; `call` records itself as a call. */
export type ToolEffect = 'read' | 'write' | 'call'

export type Tool = {
  name: string
  effect: ToolEffect
  /** True for tools that call, spawn or send: removed by `allow_nested_calls: false`, and at the depth limit. */
  calling: boolean
  /** True for tools that wait for another session: an edge of the wait-for graph (R5) belongs to a turn. */
  waits?: boolean
  /** Why the configuration keeps it from everybody: it is not shown, and says no when it is used. */
  disabled?: string
  describe(turn: TurnContext): ToolSpec
  /** Its input as the configuration leaves it. */
  settle?(input: Json): { input: Json } | Refusal
  /**
   * Parses its own input. A refusal is an answer, not a throw. May throw a fault; must stop soon after
   * `signal` aborts.
   */
  run(input: Json, context: ToolContext): Promise<ToolAnswer>
  /** How a refusal reads in this tool's own shape, recorded where the tool records itself. */
  refuse?(refusal: Refusal, input: Json, context: ToolContext): Promise<ToolAnswer>
}

/**
 * `value` is what is recorded and read. `ok: false` marks a failure that the model should see as one; `refused`:
 * it said no before it did anything.
 */
export type ToolAnswer = { ok: boolean; value: Json; refused?: boolean }

export type Tools = {
  /** All tools that could be offered to this agent, before authority is applied. `turn` asks for them. */
  of(agent: Agent, turn?: TurnId): Promise<readonly Tool[]>
}

/** The turn as its tools and its driver see it. */
export type TurnContext = {
  turn: TurnRow
  session: SessionRow
  agent: Agent
  /** Agents that this turn may call, with their descriptions. */
  callable: readonly Agent[]
  /** A client outside reads this and keeps it: nothing in it may depend on the session, or change. */
  atDoor?: boolean
}

export type ToolContext = TurnContext & {
  signal: AbortSignal
  acts: Acts
  stepKey: string
  shownTokens: number
  /** Tieline's own directories, which tools that work on files leave alone; without it there are none. */
  hidden?: readonly string[]
  /** W3C `traceparent` to hand on to whoever is asked; null is nothing. */
  trace?: () => string | null
  /** How a program of this turn is started; without it as it is. */
  launch?: (command: Command) => Promise<Launch | Refusal>
}

export type CallRequest = {
  tool: 'sub_agent' | 'subagent' | 'call_agent'
  /** An agent by name makes a fresh session; a session is called as it is. */
  target: { agent: string } | { session: SessionId }
  task: string
  input: Json | undefined
  context: z.infer<typeof ContextFilter> | null
  /** Text given to the child as it is, under the task. */
  attachment: string | null
  /** Paths that the child should look at, named under the task. */
  files?: readonly string[]
  maxContextTokens: number | undefined
  allowedTools: readonly string[] | null
  nested: boolean
  timeoutMs: number | undefined
  maxIterations: number | undefined
  maxTokens: number | undefined
  maxUsd?: number | undefined
  outputSchema: Json | undefined
  background: boolean
}

/** What became of a call: the same keys in every outcome. */
export type CallResult = {
  call: CallId
  agent: string
  outcome: Outcome
  output: string
  truncated: boolean
  errors: string[]
  toolCalls: string[]
  tokensUsed: number
  spent: Spent
  durationMs: number
  iterations: number
  path: string[]
  refusal: Refusal | null
  /** For the calling model: what passed nothing, or named what does not exist. */
  notes: readonly string[]
}

/** A call that goes on in the background. */
export type StartedCall = { call: CallId; outcome: null; notes: readonly string[] }

export type SpawnRequest = Record<'initialMessage' | 'agent' | 'model', string | null> & { cwd: string }

/** What tools may ask of the runtime, bound to one turn. */
export type Acts = MailActs &
  SteerActs & {
    call(request: CallRequest, key: string): Promise<CallResult | StartedCall>
    /** Records a call that could not even be read as one. */
    refuse(tool: CallRequest['tool'], requested: Json, refusal: Refusal, key: string): Promise<CallResult>
    waitForCall(
      call: string,
      timeoutMs: number,
    ): Promise<{ result: CallResult; tool: string } | { partial: string; ring?: string[] } | Refusal>
    /** A message to another session; nobody waits for it. The same key has one effect. */
    send(
      to: string,
      text: string,
      key: string,
    ): Promise<{ messageId: string; status: Dispatch; sessionId: SessionId } | Refusal>
    /** A session of its own, below this one. */
    spawn(
      request: SpawnRequest,
      key: string,
    ): Promise<{ sessionId: SessionId; cwd: string; agent: string; messageId: string | null } | Refusal>
    /** Of those that may be called, the ones that fit, with how they are. */
    listAgents(callable: readonly Agent[], query: string): Promise<CallableAgent[]>
    state(session: string): Promise<SessionState | Refusal>
    /** Until it is idle or the time is over; one that would close a ring of waits returns at once. */
    waitForSession(
      session: string,
      timeoutMs: number,
    ): Promise<(SessionState & { ring?: string[] }) | Refusal>
    readOutput(
      call: string,
      offset: number,
      limit: number,
    ): Promise<{ text: string; offset: number; nextOffset: number | null; total: number } | Refusal>
  }

export type Steps = MoneySteps & {
  /**
   * Returns the recorded result where there is one; otherwise runs `effect` and records its result. Steps of
   * kind `model` and `summary` may be repeated after a crash. Throws when the budget is used up or the turn
   * has ended.
   */
  step<T extends Json>(
    kind: StepKind,
    name: string,
    request: Json,
    effect: (signal: AbortSignal) => Promise<{ value: T; usage: Usage | null }>,
  ): Promise<T>
  /** Runs one tool of this turn, recorded once; authority is checked here. */
  tool(name: string, input: Json): Promise<ToolAnswer>
  /** What the request under way has sent and received so far, estimated: it counts if it is aborted. */
  asking?(usage: () => Usage): void
  /** Text of the answer as it streams. Kept as partial output. */
  emit(text: string): void
  /** What stands in the way of the request under way. Shown while it does, recorded nowhere. */
  remark?(words: string): void
  /** Tokens that this turn may still use; null is no budget. */
  tokensLeft(): number | null
  /** For agents that keep their own loop; a replay has none of it. */
  driven?: DrivenSteps
  steering?: Steering
}

export type TurnInput = TurnContext & TurnTask

/** What a turn is asked, and what it knows. */
export type TurnTask = {
  /** The child's prompt with workspace text; never empty of the agent's own prompt. */
  system: string
  /** The conversation before this turn, oldest first. */
  history: readonly Entry[]
  /** What this turn is asked, as the model reads it. */
  prompt: string
  /** The bare task, for scripted agents. */
  task: string
  input: Json
  tools: readonly ToolSpec[]
  /** Of these, what a model is offered only once there is something to wait for or to read. */
  later?: ReadonlySet<string>
  maxIterations: number
  /** W3C `traceparent` to hand on to whoever is asked; null is nothing. */
  trace?: () => string | null
  /** 2 when the turn is asked again because its answer did not satisfy the schema. */
  attempt: number
  /** The JSON Schema that its answer must satisfy, for drivers whose model can be held to one. */
  responseSchema?: Json
}

export type TurnOutcome = {
  outcome: 'completed' | 'failed' | 'budget_exhausted' | 'timed_out' | 'lost'
  output: string
  error: string | null
  iterations: number
  /** The output is all that counts, though it failed: what was said before it is not kept with it. */
  whole?: boolean
  /** Why its agent cannot work at all at present: another may take its place. */
  unavailable?: string
  /** News for the session itself, recorded with the end of the turn. */
  notice?: { about: string; text: string }
}

/**
 * May throw. Must stop soon after `signal` aborts. Asks for every effect through `steps`, so that it is
 * recorded once. After its answer it can begin no more of them, and what it says is not heard.
 */
export type Driver = { run(turn: TurnInput, steps: Steps, signal: AbortSignal): Promise<TurnOutcome> }

export type Agents = Hindrances &
  Placed & {
    get(name: string): Agent | undefined
    /** The same list as before, unless agents were made or deleted. */
    names(): readonly string[]
    /** By id, then by the title of an agent that a door made, then by name. Without it names are all there is. */
    resolve?(idOrName: string): Agent | undefined
    /** Configurations that were found and are not used. */
    untrusted?(): readonly UntrustedProject[]
    driver(agent: Agent): Driver
    /** Whether what runs this session's turns is there; until then they wait. Without it everything is. */
    isThere?(agent: Agent, session: SessionId): boolean
  }

/** Writes a summary of a conversation for one agent, or null where it has no model. */
export type Summarise = (
  agent: Agent,
  previous: string | null,
  entries: readonly Entry[],
  signal: AbortSignal,
  boundary: Boundary,
) => Promise<{ text: string; usage: Usage } | null>

/** Text about a directory for a prompt, and which files are missing; null in a replay of a call without. */
export type DescribeWorkspace = (
  cwd: string,
  files: readonly string[] | undefined,
  field?: string,
) => Promise<{ text: string; missing?: readonly string[] } | Refusal | null>

/**
 * How a check against a schema ended. `unfinished` depends on the machine and its load, so whoever goes on
 * after it records it.
 */
export type SchemaCheck =
  | { kind: 'checked'; problems: string[] }
  | { kind: 'refused'; refusal: Refusal }
  | { kind: 'unfinished'; why: string }

/**
 * JSON Schemas from outside. Ends within a bound of its own, whatever the schema is; rejects with the
 * signal's reason when that aborts first.
 * `output` null asks only whether the schema can be used. Owners take turns.
 */
export type Schemas = {
  check(
    schema: Json,
    output: string | null,
    options: { owner: string; signal: AbortSignal },
  ): Promise<SchemaCheck>
}

/**
 * `now` is the wall clock, for the record and for others: it may be set back or forward. `elapsed` only
 * passes, from some moment on: every limit and pause in the process is measured with it.
 * `sleep` passes with it too, and rejects with the signal's reason when it aborts.
 */
export type Clock = {
  now(): Millis
  elapsed(): Millis
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export type Ids = {
  next(): string
  /** For the frames of one prompt; nobody can foresee it. Null in a replay of what was recorded without. */
  boundary(): Boundary
}
