/**
 * A function as an agent. What it does through its turn is recorded; what it computes itself must be the same
 * when it runs again.
 */
import type { Agent } from '../../model/agent.ts'
import { faultMessage } from '../../model/contained.ts'
import type { Json } from '../../model/json.ts'
import { BudgetExhausted } from '../../runtime/kernel/faults.ts'
import { type EstimateUsage } from '../../runtime/turns/estimate-usage.ts'
import { historyMessages, type LoopAnswer, type LoopMessage } from '../../runtime/turns/loop.ts'
import type { Steps, ToolAnswer, TurnInput, TurnOutcome, TurnTask } from '../../runtime/kernel/ports.ts'

/** A turn as a scripted function sees it. */
export type ScriptedTurn = Pick<TurnTask, 'task' | 'input' | 'prompt' | 'system' | 'history' | 'tools'> & {
  agent: Agent
  /** Agents that this turn may call. */
  callable: readonly Agent[]
  signal: AbortSignal
  /** Runs one tool of this turn. A refusal is an answer with `ok: false`. */
  tool(name: string, input: Json): Promise<ToolAnswer>
  /** Shows text as it comes, like the stream of a model. */
  say(text: string): void
  /**
   * One recorded model step with this text as its answer, shown like one; its usage is what a model would
   * have read and written. `pace` is awaited before each word, where somebody is to watch.
   */
  think(text: string, pace?: () => Promise<void>): Promise<string>
}

/** The text it returns is the output of the turn. */
export type ScriptedFunction = (turn: ScriptedTurn) => Promise<string> | string

export async function runFunction(
  source: ScriptedFunction,
  turn: TurnInput,
  steps: Steps,
  signal: AbortSignal,
  estimate: EstimateUsage,
  modelName: string,
): Promise<TurnOutcome> {
  signal.throwIfAborted()
  const run = startRun(turn, steps, signal, estimate, modelName)
  const end = (outcome: TurnOutcome['outcome'], output: string, error: string | null): TurnOutcome => ({
    outcome,
    output,
    error,
    iterations: run.iterations(),
  })
  try {
    const output = await untilAborted(Promise.resolve(source(run.scripted)), signal)
    return output.trim() === '' ? end('failed', '', 'empty_output') : end('completed', output, null)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BudgetExhausted)
      return end('budget_exhausted', run.said(), `budget_exhausted: ${error.message}`)
    // What the runtime itself threw is not the function's failure.
    if (run.isOurs(error)) throw error
    return end('failed', run.said(), `script_failed: ${faultMessage(error)}`)
  }
}

function startRun(
  turn: TurnInput,
  steps: Steps,
  signal: AbortSignal,
  estimate: EstimateUsage,
  modelName: string,
) {
  const messages: LoopMessage[] = [...historyMessages(turn.history), { role: 'user', text: turn.prompt }]
  const ours = new Set<unknown>()
  let iterations = 0
  let tools = 0
  let said = ''
  const note = (error: unknown): never => {
    ours.add(error)
    throw error
  }
  const scripted: ScriptedTurn = {
    ...turn,
    signal,
    async tool(name, input) {
      tools += 1
      const id = `call-${tools}`
      const { ok, value } = await steps.tool(name, input).catch(note)
      messages.push({ role: 'tool', id, name, ok, value })
      return { ok, value }
    },
    say(text) {
      said += text
      steps.emit(text)
    },
    async think(text, pace) {
      iterations += 1
      const request = {
        system: turn.system,
        messages,
        tools: turn.tools,
        maxOutputTokens: null,
        iteration: iterations,
        idempotencyKey: `${turn.turn.id}-${iterations}`,
      }
      const asked = { iteration: iterations, tail: [{ role: 'assistant', text }] }
      const answer = await steps
        .step<Omit<LoopAnswer, 'usage'>>('model', modelName, asked, async () => {
          await estimate.ahead(request, text)
          const usage = estimate(request, text, [])
          const left = steps.tokensLeft()
          if (left !== null && usage.input + usage.output > left)
            throw new BudgetExhausted(`${left} tokens are left of the budget`) // R7
          await speak(text, steps, pace)
          return { value: { text, toolCalls: [], finish: 'stop' }, usage }
        })
        .catch(note)
      messages.push({ role: 'assistant', text: answer.text, toolCalls: [] })
      said = answer.text
      return answer.text
    },
  }
  return {
    scripted,
    iterations: () => iterations,
    said: () => said,
    isOurs: (error: unknown) => ours.has(error),
  }
}

/** All at once, or word by word. */
async function speak(text: string, steps: Steps, pace: (() => Promise<void>) | undefined): Promise<void> {
  if (pace === undefined) return steps.emit(text)
  for (const word of text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? []) {
    await pace()
    steps.emit(word)
  }
}

/** A function that does not listen to the signal is left behind; the turn ends without it. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, stopped])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
