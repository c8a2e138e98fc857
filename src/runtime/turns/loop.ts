/**
 * The agent loop that every model-like driver shares: ask, run the tools it asked for, ask again.
 *
 * Each request is one recorded step. Only what is new since the last request is given to match it by, so a
 * long turn costs what it adds, not the square of it; the answer before it and the results of its tools are in
 * the log as steps of their own. A provider that breaks is recorded as an answer with an `error`, so that a
 * replay sees the same failure without any network.
 */
import type { Entry } from '../../model/context.ts'
import { boundaryFor, framePeer, frameSteps, type Boundary } from '../../model/frame.ts'
import type { Usage } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { preview } from '../../model/text.ts'
import { BudgetExhausted, ProviderFault } from '../kernel/faults.ts'
import type { Steps, TurnInput, TurnOutcome } from '../kernel/ports.ts'
import type { ToolSpec } from '../../wire/tools.ts'
import { type EstimateUsage } from './estimate-usage.ts'
import { matchedBy } from './matched-by.ts'
import { offeredTools } from './offered-tools.ts'
import { limitByMoney, roomFor, withWarning } from './money-room.ts'

/**
 * `unparsable` says why the input could not be read; the tool is then not run. `signature` goes back to the
 * provider as it came.
 */
export type AskedCall = { id: string; name: string; input: Json; unparsable?: string; signature?: string }

/**
 * What one request gave, as recorded. `error` is the cause where it gave no usable answer; `text` then is
 * what had come so far.
 */
export type LoopAnswer = {
  text: string
  toolCalls: AskedCall[]
  usage: Usage
  finish: string
  error?: string
  /** The model cannot be reached at all at present, so nothing of the request was done. */
  unavailable?: true
}

/** The answer as a step's result; what it cost stands beside it in the log. */
type Answered = Omit<LoopAnswer, 'usage'>

/** `tokens` is the count where the log has it already. */
export type LoopMessage =
  | { role: 'user'; text: string; tokens?: number }
  | { role: 'assistant'; text: string; toolCalls: AskedCall[]; tokens?: number }
  | { role: 'tool'; id: string; name: string; ok: boolean; value: Json }

/**
 * `messages` is one array for the whole turn and only grows, so that an asker can keep what it made of the
 * earlier ones. `iteration` counts from 1.
 */
export type ModelRequest = {
  system: string
  messages: readonly LoopMessage[]
  tools: readonly ToolSpec[]
  /** The JSON Schema of the answer, for providers that have a response format. */
  responseSchema?: Json
  maxOutputTokens: number | null
  iteration: number
  idempotencyKey: string
  /** W3C `traceparent` for the provider. */
  trace?: string | null
}

/**
 * One request to a model. Streams its text through `emit`, says by `remark` what it waits for. May throw; a
 * ProviderFault ends the turn as failed. Must stop soon after `signal` aborts.
 */
export type Ask = (
  request: ModelRequest,
  emit: (text: string) => void,
  signal: AbortSignal,
  remark?: (words: string) => void,
) => Promise<LoopAnswer>

/** R11: calls of one answer beyond this are answered with an error instead of being run. */
export const toolCallsPerAnswerMax = 64

export async function runLoop(
  turn: TurnInput,
  steps: Steps,
  signal: AbortSignal,
  ask: Ask,
  modelName: string,
  estimate: EstimateUsage,
): Promise<TurnOutcome> {
  steps.steering?.begin()
  const prompt: LoopMessage = { role: 'user', text: turn.prompt }
  const messages = historyMessages(turn.history)
  messages.push(prompt)
  let tail: LoopMessage[] = [prompt]
  let said = ''
  let answered = 0
  const end = (outcome: TurnOutcome['outcome'], error: string | null, text: string): TurnOutcome => ({
    outcome,
    output: text === '' ? said : text,
    error,
    iterations: answered,
  })

  try {
    while (answered < turn.maxIterations) {
      signal.throwIfAborted()
      const answer = await request(turn, steps, ask, modelName, messages, tail, answered + 1, estimate)
      answered += 1
      if (answer.error !== undefined)
        return {
          ...end('failed', answer.error, answer.text),
          ...(answer.unavailable === true && { unavailable: answer.error }),
        }
      if (answer.text.trim() !== '') said = answer.text
      if (answer.toolCalls.length === 0) {
        tail = await listWords(steps, `end-${turn.attempt}-${answered}`, true)
        if (tail.length === 0 || answered === turn.maxIterations) return final(answer, steps, end)
        messages.push({ role: 'assistant', text: answer.text, toolCalls: [] }, ...tail)
        continue
      }
      // Nobody would read the results of the last round, so its tools are not run.
      if (answered === turn.maxIterations) break
      messages.push({ role: 'assistant', text: answer.text, toolCalls: answer.toolCalls })
      tail = await runTools(answer.toolCalls, steps)
      tail.push(...(await listWords(steps, `round-${turn.attempt}-${answered}`, false)))
      messages.push(...tail)
    }
  } catch (error) {
    if (error instanceof BudgetExhausted)
      return end('budget_exhausted', `budget_exhausted: ${error.message}`, '')
    throw error
  }
  return end('failed', `iteration limit of ${turn.maxIterations} reached${failedWords(tail)}`, '')
}

/** What was said to the turn meanwhile. */
async function listWords({ steering }: Steps, at: string, ends: boolean): Promise<LoopMessage[]> {
  const words = await steering?.take(at, ends)
  return words === undefined ? [] : words.map((text) => ({ role: 'user', text }))
}

const failedPointsMax = 200

/** What failed to the last is most likely why it went on and on. */
export function failedWords(tail: readonly LoopMessage[]): string {
  const tools = tail.filter((message) => message.role === 'tool')
  const failed = tools.every(({ ok }) => !ok) ? tools[0] : undefined
  if (failed === undefined) return ''
  const value = typeof failed.value === 'string' ? failed.value : JSON.stringify(failed.value)
  return `; the last tool, ${failed.name}, failed: ${preview(value, failedPointsMax)}`
}

export function request(
  turn: TurnInput,
  steps: Steps,
  ask: Ask,
  modelName: string,
  messages: readonly LoopMessage[],
  tail: LoopMessage[],
  iteration: number,
  estimate: EstimateUsage,
): Promise<Answered> {
  return steps.step<Answered>('model', modelName, matchedBy(turn, iteration, tail), async (stepSignal) => {
    let streamed = ''
    const emit = (text: string): void => {
      streamed += text
      steps.emit(text)
    }
    const asked: ModelRequest = {
      system: withWarning(turn.system, steps),
      messages,
      tools: offeredTools(turn, messages),
      ...(turn.responseSchema == null ? {} : { responseSchema: turn.responseSchema }),
      maxOutputTokens: null,
      iteration,
      idempotencyKey: `${turn.turn.id}-${turn.attempt === 1 ? '' : 'again-'}${iteration}`,
      trace: turn.trace?.() ?? null,
    }
    const left = steps.tokensLeft()
    if (left !== null) asked.maxOutputTokens = await roomFor(left, asked, estimate, stepSignal)
    if (steps.moneyLeft?.()) await limitByMoney(steps, asked, estimate, stepSignal)
    steps.asking?.(() => estimate.atOnce(asked, streamed))
    try {
      const { usage, ...answer } = await ask(asked, emit, stepSignal, (words) => steps.remark?.(words))
      return { value: answer, usage }
    } catch (error) {
      if (!(error instanceof ProviderFault)) throw error
      return {
        value: {
          text: streamed,
          toolCalls: [],
          finish: 'error',
          error: error.message,
          ...(error.unavailable && streamed === '' && { unavailable: true as const }),
        },
        usage: error.usage,
      }
    }
  })
}

/** An answer that asks for nothing more is the result, unless it is empty or was cut: that is never a success. */
function final(
  answer: Answered,
  steps: Steps,
  end: (outcome: TurnOutcome['outcome'], error: string | null, text: string) => TurnOutcome,
): TurnOutcome {
  if (answer.finish === 'length') {
    const left = steps.tokensLeft()
    return left !== null && left <= 0
      ? end('budget_exhausted', 'budget_exhausted: the answer was cut where its tokens ended', answer.text)
      : end(
          'failed',
          'output_cut: the model reached its own output limit before it had finished',
          answer.text,
        )
  }
  if (answer.finish === 'content-filter')
    return end('failed', 'content_filtered: the provider withheld the answer', answer.text)
  if (answer.text.trim() === '') return end('failed', 'empty_output', '')
  return end('completed', null, answer.text)
}

/**
 * Started in the order of the answer, so that they are recorded in that order; all have ended when this
 * settles, also when one breaks.
 */
async function runTools(calls: readonly AskedCall[], steps: Steps): Promise<LoopMessage[]> {
  const [only] = calls
  if (calls.length === 1 && only !== undefined) return [await runTool(only, 0, steps)]
  const settled = await Promise.allSettled(calls.map((call, index) => runTool(call, index, steps)))
  return settled.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

async function runTool(call: AskedCall, index: number, steps: Steps): Promise<LoopMessage> {
  const { id, name } = call
  if (index >= toolCallsPerAnswerMax) {
    return {
      role: 'tool',
      id,
      name,
      ok: false,
      value:
        `Not run: at most ${toolCallsPerAnswerMax} tool calls are taken in one answer. Ask for the rest ` +
        'in the next one.',
    }
  }
  if (call.unparsable !== undefined) {
    return {
      role: 'tool',
      id,
      name,
      ok: false,
      value: `Not run: the input of ${name} is not valid JSON (${call.unparsable}). Call it again with correct JSON.`,
    }
  }
  const answer = await steps.tool(name, call.input)
  return { role: 'tool', id, name, ok: answer.ok, value: answer.value }
}

export function historyMessages(history: readonly Entry[]): LoopMessage[] {
  const messages: LoopMessage[] = []
  for (const entry of history) {
    // Most entries are the user's and the model's own, and need no frame.
    const boundary = entry.from === null && entry.steps === null ? null : boundaryFor(entry.turn, entry.at)
    const text = withSteps(entry, boundary)
    // Providers refuse empty messages; a turn that failed without a word leaves one.
    if (text.trim() === '') continue
    // A peer's words are never shown as the model's own, whatever their role was in the conversation they
    // come from.
    if (entry.from !== null)
      messages.push({ role: 'user', text: framePeer(boundary, { from: entry.from }, text) })
    else if (entry.role === 'user') messages.push({ role: 'user', text, tokens: entry.tokens })
    else
      messages.push({
        role: 'assistant',
        text,
        toolCalls: [],
        ...(entry.steps === null && { tokens: entry.tokens }),
      })
  }
  return messages
}

const withSteps = (entry: Entry, boundary: Boundary): string =>
  entry.steps === null ? entry.text : frameSteps(boundary, entry.steps, entry.text)

/** An entry as a model reads it. */
export const entryText = (entry: Entry, boundary: Boundary): string =>
  entry.from === null
    ? withSteps(entry, boundary)
    : framePeer(boundary, { from: entry.from }, withSteps(entry, boundary))
