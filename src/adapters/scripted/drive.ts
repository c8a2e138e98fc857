/** Runs agents without a model: by rules, or by a function of the host's own. */
import { type CountTokens, preview } from '../../model/text.ts'
import { usageEstimator, type EstimateUsage } from '../../runtime/turns/estimate-usage.ts'
import { runLoop, type Ask, type AskedCall, type LoopMessage } from '../../runtime/turns/loop.ts'
import type { Clock, Driver, TurnInput } from '../../runtime/kernel/ports.ts'
import { runFunction, type ScriptedFunction } from './run-function.ts'
import {
  compileScript,
  type Script,
  type CompiledRule,
  type Rule,
  type ScriptState,
  renderStep,
} from './script.ts'
import { ProviderFault } from '../../runtime/kernel/faults.ts'
import { fillJson, fillText } from './template.ts'

export type ScriptedSettings = { clock: Clock; count: CountTokens }

/** The name that a scripted agent's model steps are recorded under. */
export const scriptedName = 'scripted'

export function scriptedDriver(source: Script | ScriptedFunction, settings: ScriptedSettings): Driver {
  const estimate = usageEstimator(settings.count)
  if (typeof source === 'function')
    return { run: (turn, steps, signal) => runFunction(source, turn, steps, signal, estimate, scriptedName) }
  const rules = compileScript(source)
  return {
    run: (turn, steps, signal) =>
      runLoop(turn, steps, signal, scriptAsk(rules, turn, settings.clock, estimate), scriptedName, estimate),
  }
}

/** A script as an asker: it runs in the same loop as a model, with the same steps, tools and limits. */
function scriptAsk(
  rules: readonly CompiledRule[],
  turn: TurnInput,
  clock: Clock,
  estimate: EstimateUsage,
): Ask {
  return async (request, emit, signal) => {
    const state: ScriptState = {
      agent: turn.agent.name,
      task: turn.task,
      prompt: turn.prompt,
      input: turn.input,
      iteration: request.iteration,
      results: lastResults(request.messages),
    }
    const rule = rules.find(({ fits }) => fits(state))?.rule
    if (rule === undefined) throw new ProviderFault('script_failed', explainNoRule(state))
    if (rule.delayMs !== undefined && rule.delayMs > 0) await clock.sleep(rule.delayMs, signal)
    if (rule.hang === true) await untilAborted(signal)
    if (rule.fail !== undefined) throw new ProviderFault('script_failed', fillText(rule.fail, state))
    const text = rule.say === undefined ? '' : fillText(rule.say, state)
    const toolCalls = makeCalls(rule, state)
    if (text !== '') emit(text)
    await estimate.ahead(request, text)
    return {
      text,
      toolCalls,
      usage: estimate(request, text, toolCalls),
      finish: toolCalls.length > 0 ? 'tool-calls' : 'stop',
    }
  }
}

const makeCalls = (rule: Rule, state: ScriptState): AskedCall[] =>
  (rule.tools ?? []).map((tool, index) => ({
    id: `call-${state.iteration}-${index + 1}`,
    name: tool.name,
    input: fillJson(tool.input, state),
  }))

/** The tool results at the end of the conversation: those of the last round. */
function lastResults(messages: readonly LoopMessage[]): ScriptState['results'] {
  const before = messages.findLastIndex(({ role }) => role !== 'tool')
  return messages.slice(before + 1).filter((message) => message.role === 'tool')
}

function explainNoRule(state: ScriptState): string {
  const last = state.results.at(-1)
  const after =
    last === undefined
      ? ''
      : ` after ${last.name} gave ${JSON.stringify(preview(renderStep(last.value), 80))}`
  const task = JSON.stringify(preview(state.task, 80))
  const where = `the task ${task} at iteration ${state.iteration}${after}`
  return `no rule of ${state.agent} fits ${where}; add a rule without "when" as the last one`
}

/** Rejects with the signal's reason when it aborts, and never before. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
