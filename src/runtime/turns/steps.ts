/**
 * The effects of a turn, each recorded once.
 *
 * A model's answer and a read may be repeated after a crash, so their results wait in the buffer; before the
 * next model request a buffered answer is made durable.
 * Any other tool announces itself durably before it runs: after a crash in between nobody can tell whether it
 * ran, and the model is told so.
 */
import type { StepKind, Usage } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { BudgetExhausted } from '../kernel/faults.ts'
import type { Runtime } from '../kernel/runtime.ts'
import type { Steps } from '../kernel/ports.ts'
import { makeStepKey } from '../kernel/recorded.ts'
import { flush, type Running } from '../kernel/running.ts'
import { runToolOutside, runTool } from './run-tool.ts'
import { occurrence } from './run-tool.ts'

export function createSteps(runtime: Runtime, running: Running): Steps {
  return {
    step: (kind, name, request, effect) => runStep(runtime, running, kind, name, request, effect),
    // The program of such an agent outlives this process.
    tool: (name, input) =>
      (running.agent.driver === 'host' ? runToolOutside : runTool)(runtime, running, name, input),
    emit: (text) => emit(runtime, running, text),
    tokensLeft: () => tokensLeft(running),
  }
}

export function tokensLeft(running: Running): number | null {
  const max = running.row.grant.tokensMax
  return max === null ? null : Math.max(0, max - running.tokensUsed - running.tokensTaken)
}

async function runStep<T extends Json>(
  runtime: Runtime,
  running: Running,
  kind: StepKind,
  name: string,
  request: Json,
  effect: (signal: AbortSignal) => Promise<{ value: T; usage: Usage | null }>,
): Promise<T> {
  const key = occurrence(running, makeStepKey(kind, name, request))
  const known = running.recorded?.step(key, { kind, name })
  if (known?.type === 'step.ended') return recall(runtime, running, kind, known.output as T, known.usage)
  running.abort.signal.throwIfAborted()
  await lookAtBudget(runtime, running)
  if (tokensLeft(running) === 0)
    throw new BudgetExhausted(`the budget of ${running.row.grant.tokensMax ?? 0} tokens is used up`) // R7
  if (running.answerBuffered) await flush(runtime, running)
  const startedAt = runtime.clock.now()
  beginStep(running, kind)
  const { value, usage: reported } = await effect(running.abort.signal)
  const usage = wholeUsage(reported)
  running.progressAt = runtime.clock.elapsed()
  // A driver that ignored its signal must not record anything after the turn was stopped.
  running.abort.signal.throwIfAborted()
  account(running, usage)
  running.buffer.push({
    type: 'step.ended',
    session: running.row.session,
    turn: running.row.id,
    kind,
    name,
    key,
    input: null,
    ok: true,
    output: value,
    usage,
    startedAt,
  })
  if (kind !== 'tool') running.answerBuffered = true
  if (kind === 'model') running.answeredOffset = running.stepOffset
  return value
}

/** R7: what calls below hold or have used stands in the row; only turns with a budget need to look. */
async function lookAtBudget(runtime: Runtime, running: Running): Promise<void> {
  if (running.row.grant.tokensMax === null) return
  running.tokensTaken = (await runtime.store.turn(running.row.id))?.tokensBelow ?? running.tokensTaken
}

/** Providers say all kinds of things. */
function wholeUsage(usage: Usage | null): Usage | null {
  if (usage === null) return null
  const whole = (tokens: number): number => (Number.isFinite(tokens) && tokens > 0 ? Math.ceil(tokens) : 0)
  return { input: whole(usage.input), output: whole(usage.output), estimated: usage.estimated }
}

/** A recorded answer is said again, so that partial output and counts are as they were. */
function recall<T extends Json>(
  runtime: Runtime,
  running: Running,
  kind: StepKind,
  value: T,
  usage: Usage | null,
): T {
  beginStep(running, kind)
  account(running, usage)
  const text =
    kind === 'model' && typeof value === 'object' && value !== null && 'text' in value ? value['text'] : null
  if (typeof text === 'string') emit(runtime, running, text)
  if (kind === 'model') running.answeredOffset = running.stepOffset
  return value
}

function beginStep(running: Running, kind: StepKind): void {
  if (kind !== 'model') return
  running.iterations += 1
  running.step += 1
  running.stepOffset = 0
  running.answeredOffset = 0
  if (running.said !== '' && !running.said.endsWith('\n')) running.said += '\n'
}

function account(running: Running, usage: Usage | null): void {
  if (usage !== null) running.tokensUsed += usage.input + usage.output
}

function emit(runtime: Runtime, running: Running, text: string): void {
  if (text === '' || running.abort.signal.aborted) return
  running.said += text
  running.progressAt = runtime.clock.elapsed()
  const offset = running.stepOffset
  running.stepOffset += text.length
  if (runtime.deltaListeners.size === 0) return
  const delta = {
    session: running.row.session,
    turn: running.row.id,
    epoch: running.epoch,
    step: running.step,
    offset,
    text,
  }
  for (const listener of runtime.deltaListeners) {
    try {
      listener(delta)
    } catch (fault) {
      // Whoever only watches must not break what is watched.
      runtime.report(fault)
    }
  }
}
