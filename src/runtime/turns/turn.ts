/**
 * Runs one turn: gives the driver its input, watches time and silence, and ends the turn with exactly one
 * outcome.
 * R4: a driver that does not stop when told is left behind after a grace time; R6: whatever it still does is
 * refused.
 */
import { externalAgent } from '../../model/agent.ts'
import { describeStop, type TurnResult } from '../../model/end.ts'
import type { SessionRow, TurnRow } from '../../model/facts.ts'
import type { TurnId } from '../../model/id.ts'
import { answerUnitsMax, errorUnitsMax, stopGraceMs } from '../../model/limits.ts'
import { countGently, cutBytes, headUnits, tailUnits } from '../../model/text.ts'
import { withSessionModel } from '../kernel/new-session.ts'
import { follow } from './claim.ts'
import { finishTurn } from './ending.ts'
import { BudgetExhausted, Fenced, RunnerLost, SaidTooMuch, Stopped } from '../kernel/faults.ts'
import { forgetTime, keepOnly, keepTime } from '../kernel/kept-time.ts'
import { settleCommits, startingOne } from '../kernel/commit.ts'
import { inProject } from '../kernel/projects-port.ts'
import { AppendFault } from '../kernel/store-port.ts'
import type { Runtime } from './runtime.ts'
import type { TurnInput, TurnOutcome } from '../kernel/ports.ts'
import { countUsed, type Recorded } from '../kernel/recorded.ts'
import { withFallback } from './fallback.ts'
import { repaired } from './repair.ts'
import { countSpent, createRunning, unrecordedEnd, type Running } from '../kernel/running.ts'
import { nothingNext, type Next } from './next-turn.ts'
import { createSteps } from './steps.ts'
import { asSubagent, emptyOutput } from './subagent-answer.ts'
import { buildTurnInput } from './turn-input.ts'
import { noteTrace } from './trace.ts'
import { settleTurn } from '../kernel/waiting.ts'
import { untilAnswer } from './until-answer.ts'
import { watch } from './watch-turn.ts'

/** The act that opens a turn looks at the project; the turn that begins with its commit need not look again. */
const lookedAgoMsMax = 50

export function startTurn(
  node: Runtime,
  row: TurnRow,
  session: SessionRow,
  input: Running['input'],
  recorded: Recorded | null,
): void {
  const runtime = inProject(node, session.cwd, lookedAgoMsMax)
  const known = row.grant.agent === externalAgent.name ? externalAgent : runtime.agents.get(row.grant.agent)
  const agent = known === undefined ? undefined : withSessionModel(known, session)
  const running = createRunning(row, session, agent ?? missingAgent(row.grant.agent), input, (own) =>
    runtime.rooms.createActs(own),
  )
  running.recorded = recorded
  Object.assign(running, countUsed(recorded))
  running.progressAt = runtime.clock.elapsed()
  running.steering.looks = runtime.steeredEarly.delete(row.id) || recorded !== null
  keepOnly(runtime, row.id, row.deadline)
  if (row.call !== null) keepTime(runtime, row.call.id, row.call.deadline)
  runtime.running.set(row.id, running)
  const run = async (note: (turn: TurnId) => void): Promise<void> => {
    const next = await runTurn(runtime, running, agent === undefined, note).catch((fault: unknown) => {
      runtime.report(fault)
      return nothingNext
    })
    await follow(runtime, row.session, next)
  }
  void startingOne(runtime, row.session, run).catch(runtime.report)
}

const missingAgent = (name: string): Running['agent'] => ({
  ...externalAgent,
  name,
  description: '',
  tools: [],
  allowSubAgentCalls: false,
  maxDepth: 0,
})

async function runTurn(
  runtime: Runtime,
  running: Running,
  unknown: boolean,
  note: (turn: TurnId) => void,
): Promise<Next> {
  const clearAlarm = watch(runtime, running)
  const forget = noteTrace(runtime, running)
  try {
    const outcome: TurnOutcome = unknown
      ? {
          outcome: 'failed',
          output: '',
          error: `agent_unknown: ${running.row.grant.agent} is no longer configured`,
          iterations: 0,
        }
      : await drive(runtime, running)
    if (runtime.stopping.signal.aborted) return nothingNext
    return await finish(runtime, running, outcome, note)
  } catch (error) {
    // Another activation has the turn, or this node is going down: the log says what becomes of it.
    if (!(error instanceof Fenced) && !runtime.stopping.signal.aborted) {
      // For whoever waits here when not even the end can be recorded.
      const why = error instanceof Error ? error.message : String(error)
      settleTurn(runtime, running.row.id, unrecordedEnd(running, 'lost', `lost: ${why}`))
      throw error
    }
    // A sweep that came while its driver took its time to stop has left it alone.
    runtime.brokenOff.add(running.row.session)
    return nothingNext
  } finally {
    clearAlarm()
    forget()
    if (runtime.running.get(running.row.id) === running) {
      runtime.running.delete(running.row.id)
      forgetTime(runtime, running.row.id)
    }
  }
}

/**
 * What cannot be recorded must not keep the turn from ending: it then ends as a failure, without what was
 * waiting to be recorded. Where something else failed, nothing was written, and the end is tried once more.
 */
async function finish(
  runtime: Runtime,
  running: Running,
  outcome: TurnOutcome,
  note: (turn: TurnId) => void,
): Promise<Next> {
  running.isEnding = true
  await settleCommits(running)
  const isLeft = (error: unknown): boolean => error instanceof Fenced || runtime.stopping.signal.aborted
  const end = async (): Promise<Next> =>
    finishTurn(runtime, running, await toTurnResult(runtime, running, outcome), note)
  try {
    return await end().catch((error: unknown) => {
      if (error instanceof AppendFault || isLeft(error)) throw error
      return end()
    })
  } catch (error) {
    if (isLeft(error)) throw error
    running.buffer = []
    return finishTurn(runtime, running, await toUnrecorded(runtime, running, error), note)
  }
}

/** R7: what could not be recorded was paid for, and is charged. The end says why no step tells of it. */
async function toUnrecorded(runtime: Runtime, running: Running, fault: unknown): Promise<TurnResult> {
  const reason = fault instanceof Error ? fault.message : String(fault)
  const error = `not_recorded: ${reason}`
  const { iterations } = running
  const result = await toTurnResult(runtime, running, { outcome: 'failed', output: '', error, iterations })
  return running.stopAs === null
    ? result
    : { ...result, error: headUnits(`${describeStop(running.stopAs)}; ${error}`, errorUnitsMax) }
}

async function drive(runtime: Runtime, running: Running): Promise<TurnOutcome> {
  try {
    let prepared = await prepare(runtime, running)
    const first = async (): Promise<TurnOutcome> => {
      if (running.moved !== null) prepared = await prepare(runtime, running)
      return prepared.run(prepared.input)
    }
    const run = async (): Promise<TurnOutcome> =>
      asSubagent(
        runtime,
        running,
        await repaired(runtime, running, await withFallback(runtime, running, first), (again) =>
          prepared.run({ ...prepared.input, ...again(prepared.input) }),
        ),
      )
    return checked(await untilLeft(runtime, running, run()))
  } catch (error) {
    return broken(running, error)
  }
}

/** What its agent is given, and what runs it. */
async function prepare(runtime: Runtime, running: Running) {
  const input = await buildTurnInput(runtime, running)
  const driver = runtime.rooms.driverOfClient(running) ?? runtime.agents.driver(running.agent)
  const steps = createSteps(runtime, running)
  const { signal } = running.abort
  runtime.stopping.signal.throwIfAborted()
  return { input, run: (given: TurnInput) => untilAnswer(steps, (own) => driver.run(given, own, signal)) }
}

/** A driver of somebody's own may return anything. */
function checked(outcome: TurnOutcome): TurnOutcome {
  const known = ['completed', 'failed', 'budget_exhausted', 'timed_out'].includes(outcome?.outcome)
  if (known && typeof outcome.output === 'string' && outcome.output.length > answerUnitsMax)
    return {
      outcome: 'failed',
      output: headUnits(outcome.output, answerUnitsMax),
      error: new SaidTooMuch().message,
      iterations: 0,
      whole: true,
    }
  if (known && typeof outcome.output === 'string')
    return {
      ...outcome,
      error: outcome.error ?? null,
      iterations: Number.isInteger(outcome.iterations) ? outcome.iterations : 0,
    }
  return {
    outcome: 'failed',
    output: '',
    error: 'driver_broken: the driver returned no outcome with an output',
    iterations: 0,
  }
}

/** Rejects a grace time after the signal aborted, if the driver has not stopped by then. */
function untilLeft(runtime: Runtime, running: Running, run: Promise<TurnOutcome>): Promise<TurnOutcome> {
  const { signal } = running.abort
  return new Promise<TurnOutcome>((resolve, reject) => {
    const giveUp = (): void => {
      runtime.alarm.after(stopGraceMs, () => reject(signal.reason))
    }
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    run.then(resolve, reject)
  })
}

function broken(running: Running, error: unknown): TurnOutcome {
  if (error instanceof Fenced) throw error
  if (error instanceof Stopped) running.stopAs ??= error.outcome
  const { reason } = running.abort.signal
  if (running.abort.signal.aborted && reason instanceof Fenced) throw reason
  const iterations = running.iterations
  if (error instanceof RunnerLost)
    return { outcome: 'lost', output: running.said, error: `lost: ${error.message}`, iterations }
  if (error instanceof BudgetExhausted)
    return {
      outcome: 'budget_exhausted',
      output: running.said,
      error: `budget_exhausted: ${error.message}`,
      iterations,
    }
  return {
    outcome: 'failed',
    output: running.said,
    error: error instanceof Error ? error.message : String(error),
    iterations,
  }
}

/**
 * A turn that was told to stop ends as it was told, with what it had said; a success without output is a
 * failure.
 */
async function toTurnResult(runtime: Runtime, running: Running, ended: TurnOutcome): Promise<TurnResult> {
  const stopped = running.stopAs
  const empty = ended.outcome === 'completed' && ended.output.trim() === ''
  const outcome = stopped ?? (empty ? 'failed' : ended.outcome)
  const why = ended.error === null ? null : headUnits(ended.error, errorUnitsMax)
  const error = stopped !== null ? describeStop(stopped) : empty ? emptyOutput : why
  // Whatever a run that did not finish had said is kept, not only its last words.
  const isWhole = outcome === 'completed' || (stopped === null && ended.whole === true)
  const said = isWhole || running.said.trim() === '' ? ended.output : running.said
  const output = tailUnits(said, answerUnitsMax)
  return {
    outcome,
    output,
    error,
    iterations: Math.max(ended.iterations, running.iterations),
    toolCalls: [...running.toolCalls],
    ...countSpent(running),
    tokensBelow: running.tokensBelow,
    ...(ended.notice === undefined || outcome !== 'completed' ? {} : { notice: ended.notice }),
    spentBelow: running.spentBelow,
    ...(running.moved === null ? {} : { moved: running.moved }),
    entry: running.session.kind === 'persistent' ? await buildEntry(runtime, running, output, error) : null,
  }
}

async function buildEntry(
  runtime: Runtime,
  { input, session, row }: Running,
  output: string,
  error: string | null,
): Promise<TurnResult['entry']> {
  const answered =
    output === '' ? `[${error ?? 'no answer'}]` : cutBytes(output, runtime.limits.resultBytesMax).text
  const asked =
    input.type === 'call.opened'
      ? {
          asked: input.task,
          askedTokens: await countGently(runtime.count, input.task),
          from: input.grant.path.at(-2)?.agent ?? null,
        }
      : { asked: input.text, askedTokens: input.tokens, from: input.from }
  return {
    n: session.entries + 1,
    ...asked,
    startedAt: row.openedAt,
    answered,
    answeredTokens: await countGently(runtime.count, answered),
  }
}
