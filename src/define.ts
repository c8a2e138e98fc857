/** How a program defines its agents, its tools and what runs them. These types are all that such code sees. */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { z } from 'zod'
import type { ScriptedFunction } from './adapters/scripted/run-function.ts'
import type { Script } from './adapters/scripted/script.ts'
import type { Agent } from './model/agent.ts'
import type { FlowId, SessionId, TurnId } from './model/id.ts'
import type { Json } from './model/json.ts'
import { readInputAsync } from './model/read-input.ts'
import { isRefusal } from './model/refusal.ts'
import type { Steps, ToolAnswer, ToolEffect, TurnOutcome, TurnTask } from './runtime/kernel/ports.ts'
import { answered, once, refused, toJsonSchema } from './tools/answer.ts'
import type { ToolSpec } from './wire/tools.ts'

/**
 * An agent as code defines it: by the name of a driver, by a script, by a model object, or by a driver of your
 * own.
 */
export type AgentOptions = Omit<z.input<typeof Agent>, 'name' | 'driver'> & {
  driver?: 'model' | 'scripted' | 'acp' | Driver
  script?: z.input<typeof Script> | ScriptedFunction
  languageModel?: LanguageModelV4
}

/** Checks an agent's definition where it is written; its name is the key under `agents`. */
export const defineAgent = <const Options extends AgentOptions>(agent: Options): Options => agent

/** The turn that something is done in. */
export type TurnContext = {
  agent: Agent
  session: { id: SessionId; cwd: string; title: string }
  turn: { id: TurnId; flow: FlowId }
  /** Agents that this turn may call. */
  callable: readonly Agent[]
}

/** What a driver is given. */
export type TurnInput = TurnContext & TurnTask

/**
 * Runs the turns of an agent. May throw. Must stop soon after `signal` aborts. Asks for every effect through
 * `steps`, so that it is recorded once.
 */
export type Driver = { run(turn: TurnInput, steps: Steps, signal: AbortSignal): Promise<TurnOutcome> }

/** Makes a driver of one function. The text that it returns completes the turn; no text is a failure. */
export const defineDriver = (driver: {
  run(turn: TurnInput, steps: Steps, signal: AbortSignal): Promise<TurnOutcome | string>
}): Driver => ({
  async run(turn, steps, signal) {
    const ended = await driver.run(turn, steps, signal)
    if (typeof ended !== 'string') return ended
    return ended.trim() === ''
      ? { outcome: 'failed', output: '', error: 'empty_output', iterations: 1 }
      : { outcome: 'completed', output: ended, error: null, iterations: 1 }
  },
})

export type ToolContext = TurnContext & {
  signal: AbortSignal
  /** The W3C `traceparent` to pass on; null if there is none. */
  trace?: () => string | null
}

/** A tool that agents can be given by its name. `defineTool` makes one. */
export type Tool = {
  name: string
  effect: ToolEffect
  /** Whether it calls, spawns or sends: `allow_nested_calls: false` and the depth limit remove such tools. */
  calling: boolean
  describe(turn: TurnContext): ToolSpec
  run(input: Json, context: ToolContext): Promise<ToolAnswer>
}

export type ToolDefinition<Input extends z.ZodType> = {
  name: string
  /** What a model reads to choose it. */
  description: string
  /** A zod schema of what a model must give. */
  input: Input
  /** Whether it may run again after a crash: a `read` may, a `write` may not. `write` unless given. */
  effect?: 'read' | 'write'
  /**
   * Gets input that was parsed, and returns JSON for the model. The model reads the message of what it throws.
   * Must stop soon after `context.signal` aborts.
   */
  run(input: z.output<Input>, context: ToolContext): Promise<Json> | Json
}

/** Makes a tool of a function. Input that does not fit its schema is refused, and the model reads why. */
export function defineTool<Input extends z.ZodType>(definition: ToolDefinition<Input>): Tool {
  const { name, description, input, effect = 'write' } = definition
  return {
    name,
    effect,
    calling: false,
    describe: once(() => ({ name, description, input: toJsonSchema(input) })),
    async run(given, context) {
      context.signal.throwIfAborted()
      const read = await readInputAsync(input, given)
      return isRefusal(read) ? refused(read) : answered(await definition.run(read.data, context))
    },
  }
}
