/**
 * The effects of a turn, each recorded once.
 *
 * A model's answer and a read may be repeated after a crash, so their results wait in the buffer; before the
 * next model request a buffered answer is made durable.
 * Any other tool announces itself durably before it runs: after a crash in between nobody can tell whether it
 * ran, and the model is told so.
 */
import { mayUse } from '../../model/authority.ts'
import type { StepKind, Usage } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { explain, type Refusal } from '../../model/refusal.ts'
import { listCallable } from './callable.ts'
import { BudgetExhausted, Fenced } from '../kernel/faults.ts'
import type { Runtime } from '../kernel/runtime.ts'
import type { Steps, Tool, ToolAnswer } from '../kernel/ports.ts'
import { makeStepKey } from '../kernel/recorded.ts'
import { flush, type Running } from '../kernel/running.ts'
import { traceparentFor } from './trace.ts'

export const refusedAnswer = (refusal: Refusal): ToolAnswer => ({
  ok: false,
  value: { error: { code: refusal.code, message: explain(refusal) } },
})

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

/**
 * Occurrences of the same request are numbered as they begin, so that parallel ones are told apart however
 * they end.
 */
function occurrence(running: Running, key: string): string {
  const before = running.begun.get(key) ?? 0
  running.begun.set(key, before + 1)
  return before === 0 ? key : `${key}#${before + 1}`
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

/**
 * R2: what a program outside is told of a tool that may not be repeated is durable before: after a crash it
 * would be told otherwise.
 */
export async function runToolOutside(
  runtime: Runtime,
  running: Running,
  name: string,
  input: Json,
  onKey?: (key: string) => void,
): Promise<ToolAnswer> {
  const answer = await runTool(runtime, running, name, input, onKey)
  if (running.tools.get(name)?.effect === 'write' && running.buffer.length > 0) await flush(runtime, running)
  return answer
}

/** `onKey` is told at once as which step it runs. */
export async function runTool(
  runtime: Runtime,
  running: Running,
  name: string,
  input: Json,
  onKey?: (key: string) => void,
): Promise<ToolAnswer> {
  running.abort.signal.throwIfAborted()
  const tool = running.tools.get(name)
  const refusal = tool === undefined ? unavailable(runtime, running, name) : forbidden(runtime, running, name)
  const key = occurrence(running, makeStepKey('tool', name, input))
  onKey?.(key)
  if (tool === undefined || refusal !== null) {
    const no = refusal ?? unavailable(runtime, running, name)
    return tool?.refuse === undefined
      ? refusedAnswer(no)
      : tool.refuse(no, input, contextOf(runtime, running, key))
  }
  running.toolCalls.add(name)
  running.toolsRunning += 1
  try {
    const no = running.agent.ask.includes(name) ? await leave(runtime, running, name, input, key) : null
    if (no !== null)
      return tool.refuse === undefined
        ? refusedAnswer(no)
        : tool.refuse(no, input, contextOf(runtime, running, key))
    const answer =
      tool.effect === 'call'
        ? await tool.run(input, contextOf(runtime, running, key))
        : await recordTool(runtime, running, tool, key, input)
    return answer
  } finally {
    running.toolsRunning -= 1
    running.progressAt = runtime.clock.elapsed()
  }
}

/** A person's leave, or the refusal where there is none. */
async function leave(
  runtime: Runtime,
  running: Running,
  name: string,
  input: Json,
  key: string,
): Promise<Refusal | null> {
  const { answer, by } = await runtime.rooms.askPerson(runtime, running, name, input, key)
  return answer === 'allow'
    ? null
    : { code: 'tool_disabled', tool: name, why: `a person was asked first, and it was not allowed (${by})` }
}

/** R7: checked where a tool runs, whatever the driver was shown. */
function forbidden(runtime: Runtime, running: Running, name: string): Refusal | null {
  const disabled = running.tools.get(name)?.disabled
  if (disabled !== undefined) return { code: 'tool_disabled', tool: name, why: disabled }
  if (!mayUse(running.row.grant.authority, running.agent.tools, name))
    return { code: 'tool_disabled', tool: name, why: 'it is outside what this call was allowed' }
  if (running.agent.ask.includes(name) && !runtime.asks)
    return {
      code: 'tool_disabled',
      tool: name,
      why: 'a person must be asked first, and nobody can be asked here',
    }
  return null
}

function unavailable(runtime: Runtime, running: Running, name: string): Refusal {
  const listed = [...running.tools.keys()].filter(
    (listedName) => forbidden(runtime, running, listedName) === null,
  )
  return {
    code: 'tool_disabled',
    tool: name,
    why: listed.length > 0 ? `the tools of this turn are ${listed.join(', ')}` : 'this turn has no tools',
  }
}

const contextOf = (runtime: Runtime, running: Running, stepKey: string) => ({
  turn: running.row,
  session: running.session,
  agent: running.agent,
  callable: listCallable(runtime, running.agent),
  signal: running.abort.signal,
  acts: running.acts,
  stepKey,
  shownTokens: runtime.limits.resultShownTokens,
  trace: () => traceparentFor(runtime, running, stepKey),
})

async function recordTool(
  runtime: Runtime,
  running: Running,
  tool: Tool,
  key: string,
  input: Json,
): Promise<ToolAnswer> {
  const known = running.recorded?.step(key, { kind: 'tool', name: tool.name, input })
  if (known?.type === 'step.ended') return { ok: known.ok, value: known.output }
  const place = {
    session: running.row.session,
    turn: running.row.id,
    kind: 'tool' as const,
    name: tool.name,
    key,
  }
  const startedAt = runtime.clock.now()
  if (known?.type === 'step.started' && tool.effect === 'write') {
    const value = {
      error: {
        code: 'interrupted',
        message: `The runtime stopped while ${tool.name} was running: it may have run. Look before you do it again.`,
      },
    }
    running.buffer.push({
      type: 'step.ended',
      ...place,
      input,
      ok: false,
      output: value,
      usage: null,
      startedAt,
    })
    return { ok: false, value }
  }
  if (tool.effect === 'write') await flush(runtime, running, [{ type: 'step.started', ...place, input }])
  const answer = await attempt(runtime, running, tool, key, input)
  running.buffer.push({
    type: 'step.ended',
    ...place,
    input,
    ok: answer.ok,
    output: answer.value,
    usage: null,
    startedAt,
  })
  return answer
}

/** A tool that breaks tells the model so; a turn that was stopped or taken over tells nobody. */
async function attempt(
  runtime: Runtime,
  running: Running,
  tool: Tool,
  key: string,
  input: Json,
): Promise<ToolAnswer> {
  try {
    return await tool.run(input, contextOf(runtime, running, key))
  } catch (error) {
    if (running.abort.signal.aborted || error instanceof Fenced) throw error
    return {
      ok: false,
      value: {
        error: { code: 'tool_failed', message: error instanceof Error ? error.message : String(error) },
      },
    }
  }
}
