/** The agent loop that every model-like driver shares: ask, run the tools it asked for, ask again. One recorded step per request. */
import type { Json } from '../model/json.ts'
import type { ModelAnswer, Steps, ToolAnswer, ToolSpec, TurnInput, TurnOutcome } from './ports.ts'

export type LoopMessage =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; toolCalls: ModelAnswer['toolCalls'] }
  | { role: 'tool'; id: string; name: string; ok: boolean; value: Json }

export type ModelRequest = { system: string; messages: readonly LoopMessage[]; tools: readonly ToolSpec[]; maxOutputTokens: number | null; iteration: number; idempotencyKey: string }

/** One request to a model. Streams its text through `emit`. May throw. Must stop soon after `signal` aborts. */
export type Ask = (request: ModelRequest, emit: (text: string) => void, signal: AbortSignal) => Promise<ModelAnswer>
