/**
 * The effects of a turn, each recorded once.
 *
 * A model's answer and a read may be repeated after a crash, so their results wait in the buffer. An answer is
 * written while the next request is under way, and is durable before the one after that is sent.
 * Any other tool announces itself durably before it runs: after a crash in between nobody can tell whether it
 * ran, and the model is told so.
 */
import { boundUsage } from '../../model/bound-usage.ts'
import type { StepKind, Usage } from '../../model/event.ts'
import type { Millis } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { answerUnitsMax, stopGraceMs } from '../../model/limits.ts'
import type { Delta } from '../../wire/log.ts'
import { addSpent, readSpent } from '../../model/money.ts'
import { headUnits, tailUnits } from '../../model/text.ts'
import { flush, flushSoon } from '../kernel/flush.ts'
import { isDriven } from '../../model/agent.ts'
import { payOfDay } from '../kernel/day-spending.ts'
import { beginEffect, endEffect, holdWhileDraining } from '../kernel/drain.ts'
import { BudgetExhausted, SaidTooMuch } from '../kernel/faults.ts'
import { assertBudget, holdMoney, lookAtBudget, readMoney, tokensLeft } from './budget-left.ts'
import { drivenSteps } from './driven-steps.ts'
import { createSteering } from './steering.ts'
import type { Runtime } from './runtime.ts'
import type { Steps } from '../kernel/ports.ts'
import { makeStepKey } from '../kernel/recorded.ts'
import type { Running } from '../kernel/running.ts'
import { runToolOutside, runTool } from './run-tool.ts'
import { occurrence } from './occurrence.ts'

export function createSteps(runtime: Runtime, running: Running): Steps {
  return {
    step: (kind, name, request, effect) => runStep(runtime, running, kind, name, request, effect),
    tool: (name, input) => (isOutside(running) ? runToolOutside : runTool)(runtime, running, name, input),
    emit: (text) => emit(runtime, running, text),
    remark: (words) => remark(runtime, running, words),
    asking: (usage) => void (running.asking = usage),
    tokensLeft: () => tokensLeft(running),
    moneyLeft: () => readMoney(runtime, running),
    holdMoney: (nanoUsd) => holdMoney(runtime, running, nanoUsd),
    steering: createSteering(runtime, running),
    ...(isDriven(running.agent) ? { driven: drivenSteps(runtime, running) } : {}),
  }
}

async function runStep<T extends Json>(
  runtime: Runtime,
  running: Running,
  kind: StepKind,
  name: string,
  request: Json,
  effect: Effect<T>,
): Promise<T> {
  const key = occurrence(running, makeStepKey(kind, name, request))
  const known = running.recorded?.step(key, { kind, name })
  if (known?.type === 'step.ended') return recall(runtime, running, kind, known.output as T)
  running.abort.signal.throwIfAborted()
  const startedAt = runtime.clock.now()
  const begun = { isBegun: false }
  try {
    const done = await attempt(runtime, running, kind, effect, begun).catch(async (fault: unknown) => {
      if (!(fault instanceof BudgetExhausted) || !(await untilStopped(runtime, running))) throw fault
      return attempt(runtime, running, kind, effect, begun)
    })
    return keep(runtime, running, kind, name, key, startedAt, done)
  } finally {
    // What it has cost is counted before what it held is given back.
    running.release?.()
  }
}

type Effect<T> = (signal: AbortSignal) => Promise<Done<T>>
type Done<T> = { value: T; usage: Usage | null }

async function attempt<T extends Json>(
  runtime: Runtime,
  running: Running,
  kind: StepKind,
  effect: Effect<T>,
  begun: { isBegun: boolean },
): Promise<Done<T>> {
  const looking = lookAtBudget(runtime, running)
  if (looking !== null) await looking
  assertBudget(runtime, running) // R7
  if (running.answerBuffered) await keepAnswer(runtime, running)
  const held = holdWhileDraining(runtime, running)
  if (held !== null) await held
  if (!begun.isBegun) beginStep(running, kind)
  begun.isBegun = true
  beginEffect(runtime)
  try {
    return await effect(running.abort.signal)
  } finally {
    endEffect(runtime)
  }
}

function keep<T extends Json>(
  runtime: Runtime,
  running: Running,
  kind: StepKind,
  name: string,
  key: string,
  startedAt: Millis,
  { value, usage: reported }: Done<T>,
): T {
  running.asking = null
  running.remark = ''
  const usage = reported === null ? null : boundUsage(reported)
  running.progressAt = runtime.clock.elapsed()
  // A driver that ignored its signal must not record anything after the turn was stopped.
  running.abort.signal.throwIfAborted()
  account(runtime, running, usage)
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
  // What was not shown by now is shown by the event.
  running.flushing?.held?.splice(0)
  if (kind === 'model') running.answeredOffset = running.stepOffset
  return value
}

/**
 * Of answers that are not durable yet there is one at most while a request is under way. The program of an agent
 * outside does not run again with this process, so what it was told is durable at once (R2).
 */
async function keepAnswer(runtime: Runtime, running: Running): Promise<void> {
  await running.flushing?.done
  if (isOutside(running)) await flush(runtime, running)
  else if (running.answerBuffered) flushSoon(runtime, running)
}

/** The program of such an agent outlives this process. */
const isOutside = ({ agent }: Running): boolean => agent.driver === 'host' || isDriven(agent)

const stopLookMs = 50
const stoppingMax = 1000

/**
 * R7: a call that has ended holds its tokens until its turn has stopped. Whoever needs them waits for that, for
 * the time that a driver has to stop. False where nothing that stops holds any.
 */
async function untilStopped(runtime: Runtime, { row, abort }: Running): Promise<boolean> {
  const listStopping = async (): Promise<boolean> =>
    (await runtime.store.turns({ flow: row.flow }, stoppingMax)).some(
      ({ call, state }) => call?.callerTurn === row.id && !call.pending && state === 'running',
    )
  if (!(await listStopping())) return false
  const end = runtime.clock.elapsed() + stopGraceMs + stopLookMs
  while (runtime.clock.elapsed() < end) {
    await runtime.clock.sleep(stopLookMs, abort.signal)
    if (!(await listStopping())) break
  }
  return true
}

/**
 * A recorded answer is said again, so that partial output is as it was. What it used was counted when the turn was
 * taken up.
 */
function recall<T extends Json>(runtime: Runtime, running: Running, kind: StepKind, value: T): T {
  beginStep(running, kind)
  const text =
    kind === 'model' && typeof value === 'object' && value !== null && 'text' in value ? value['text'] : null
  if (typeof text === 'string') say(runtime, running, text)
  if (kind === 'model') running.answeredOffset = running.stepOffset
  return value
}

function beginStep(running: Running, kind: StepKind): void {
  if (kind !== 'model') return
  running.iterations += 1
  running.step += 1
  running.stepOffset = 0
  running.answeredOffset = 0
  // Of all its answers together a turn keeps no more than of one.
  running.said = tailUnits(running.said, answerUnitsMax)
  if (running.said !== '' && !running.said.endsWith('\n')) running.said += '\n'
}

function account(runtime: Runtime, running: Running, usage: Usage | null): void {
  if (usage === null) return
  payOfDay(runtime, running.session.cwd, usage.cost?.nanoUsd ?? 0)
  running.tokensUsed += usage.input + usage.output
  running.spent = addSpent(running.spent, readSpent(usage))
}

/** R11: whatever runs the turn, it is stopped where it says more than an answer may have. */
function emit(runtime: Runtime, running: Running, text: string): void {
  const room = answerUnitsMax - running.stepOffset
  if (text.length <= room) return say(runtime, running, text)
  say(runtime, running, headUnits(text, room))
  running.abort.abort(new SaidTooMuch())
}

function say(runtime: Runtime, running: Running, text: string): void {
  if (text === '' || running.abort.signal.aborted) return
  running.said += text
  running.remark = ''
  running.progressAt = runtime.clock.elapsed()
  const offset = running.stepOffset
  running.stepOffset += text.length
  show(runtime, running, { offset, text })
}

function remark(runtime: Runtime, running: Running, words: string): void {
  if (running.abort.signal.aborted) return
  running.remark = words
  show(runtime, running, { offset: running.stepOffset, text: '', remark: words })
}

function show(runtime: Runtime, running: Running, said: Pick<Delta, 'offset' | 'text' | 'remark'>): void {
  if (runtime.deltaListeners.size === 0) return
  const delta: Delta = {
    session: running.row.session,
    turn: running.row.id,
    epoch: running.epoch,
    step: running.step,
    ...said,
  }
  // Text comes after the answers that were recorded before it.
  const held = running.flushing?.held ?? null
  if (held === null) tellListeners(runtime, delta)
  else held.push(() => tellListeners(runtime, delta))
}

function tellListeners(runtime: Runtime, delta: Delta): void {
  for (const listener of runtime.deltaListeners) {
    try {
      listener(delta)
    } catch (fault) {
      // Whoever only watches must not break what is watched.
      runtime.report(fault)
    }
  }
}
