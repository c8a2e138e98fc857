/** One use of a tool in a turn: authority and permission first, then the run, recorded once. */
import { mayUse } from '../../model/authority.ts'
import { isRecord, type Json } from '../../model/json.ts'
import { explain, isRefusalCode, type Refusal } from '../../model/refusal.ts'
import { listCallable } from './callable.ts'
import { flush } from '../kernel/flush.ts'
import { beginEffect, endEffect, holdWhileDraining } from '../kernel/drain.ts'
import { Fenced } from '../kernel/faults.ts'
import { letOthersIn } from '../kernel/gently.ts'
import type { Runtime } from './runtime.ts'
import type { Launcher } from '../kernel/launch-port.ts'
import type { Tool, ToolAnswer, ToolContext } from '../kernel/ports.ts'
import { makeStepKey } from '../kernel/recorded.ts'
import { joinSignals, type Running } from '../kernel/running.ts'
import { occurrence, type Step } from './occurrence.ts'
import { askLeave } from './ask-leave.ts'
import { traceparentFor } from './trace.ts'

export const refusedAnswer = (refusal: Refusal): ToolAnswer => ({
  ok: false,
  value: { error: { code: refusal.code, message: explain(refusal) } },
})

/**
 * R2: what a program outside is told of a tool that may not be repeated is durable before: after a crash it
 * would be told otherwise.
 */
export async function runToolOutside(
  runtime: Runtime,
  running: Running,
  name: string,
  input: Json,
  doing: Doing = {},
): Promise<ToolAnswer> {
  const answer = await runTool(runtime, running, name, input, doing)
  if (running.tools.get(name)?.effect === 'write' && running.buffer.length > 0) await flush(runtime, running)
  return answer
}

export type Doing = {
  /** Why it may not be done: it is refused where it would have been, and recorded there. */
  no?: Refusal | null
  /** Aborts when nobody waits for it any more: nothing more is done for it then. */
  gone?: AbortSignal | undefined
  step?: Step | undefined
}

export async function runTool(
  runtime: Runtime,
  running: Running,
  name: string,
  input: Json,
  doing: Doing = {},
): Promise<ToolAnswer> {
  const { gone } = doing
  const held = holdWhileDraining(runtime, running)
  if (held !== null) await held
  const use = await beginUse(runtime, running, name, input, doing)
  try {
    if (use.refusal !== null) return await refuseUse(runtime, running, name, input, use.refusal, use.key)
    const answer =
      use.tool.effect === 'call'
        ? await use.tool.run(input, buildContext(runtime, running, use.key, gone))
        : await recordTool(runtime, running, use.tool, use.key, input, gone)
    if (!isRefusedAnswer(answer)) running.toolCalls.add(name)
    return answer
  } finally {
    use.end()
  }
}

/** A refusal in the tool's own shape, where it has one. */
export const refuseUse = async (
  runtime: Runtime,
  running: Running,
  name: string,
  input: Json,
  refusal: Refusal,
  key: string,
): Promise<ToolAnswer> =>
  running.tools.get(name)?.refuse?.(refusal, input, buildContext(runtime, running, key)) ??
  refusedAnswer(refusal)

/** One use of a tool: which step it is, and why it may not be. `end` is called when it is over. */
export type Use = { key: string; end(): void } & (
  | { refusal: null; tool: Tool }
  | { refusal: Refusal; tool: Tool | undefined }
)

/** Authority first, then a person where one must be asked. */
export async function beginUse(
  runtime: Runtime,
  running: Running,
  name: string,
  input: Json,
  doing: Doing,
): Promise<Use> {
  const { no = null, gone, step } = doing
  const turnToBegin = runtime.beginning.enter(running.row.flow)
  if (turnToBegin !== null) await turnToBegin
  running.abort.signal.throwIfAborted()
  // It may have waited for its turn.
  gone?.throwIfAborted()
  const tool = running.tools.get(name)
  const refusal =
    no ?? (tool === undefined ? unavailable(runtime, running, name) : forbidden(runtime, running, name))
  const begunAt = runtime.clock.elapsed()
  const request = makeStepKey('tool', name, input)
  const key = occurrence(running, request, step)
  const others = letOthersIn(runtime, begunAt)
  if (others !== null) await others
  if (tool === undefined || refusal !== null)
    return { key, tool, refusal: refusal ?? unavailable(runtime, running, name), end: () => undefined }
  running.toolsRunning += 1
  const end = (): void => {
    running.toolsRunning -= 1
    running.progressAt = runtime.clock.elapsed()
  }
  try {
    if (!running.agent.ask.includes(name)) return { key, tool, refusal: null, end }
    const leave = await askLeave(runtime, running, { name, input, request, key }, doing)
    return { ...leave, tool, end }
  } catch (fault) {
    end()
    throw fault
  }
}

/** Whether the tool said no before it did anything: a call that did not open, input that does not fit. */
function isRefusedAnswer({ ok, value, refused }: ToolAnswer): boolean {
  const error = !ok && isRecord(value) ? value['error'] : null
  return refused === true || (isRecord(error) && isRefusalCode(error['code']))
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

const buildContext = (
  runtime: Runtime,
  running: Running,
  stepKey: string,
  gone?: AbortSignal,
): ToolContext => ({
  turn: running.row,
  session: running.session,
  agent: running.agent,
  callable: listCallable(runtime, running.agent),
  signal: joinSignals(running, gone),
  acts: gone === undefined ? running.acts : runtime.rooms.createActs(running, gone),
  stepKey,
  shownTokens: runtime.limits.resultShownTokens,
  trace: () => traceparentFor(runtime, running, stepKey),
  ...(runtime.launcher === undefined ? {} : { launch: launchIn(runtime.launcher, running) }),
})

const launchIn =
  (launcher: Launcher, { agent, row }: Running): NonNullable<ToolContext['launch']> =>
  (command) =>
    launcher.wrap(command, { sandbox: agent.sandbox, turn: row.id })

async function recordTool(
  runtime: Runtime,
  running: Running,
  tool: Tool,
  key: string,
  input: Json,
  gone?: AbortSignal,
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
  const answer = await attempt(runtime, running, tool, key, input, gone)
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

export const clientGone: ToolAnswer = {
  ok: false,
  value: { error: { code: 'cancelled', message: 'The client went away.' } },
}

/**
 * A tool that breaks tells the model so; a turn that was stopped or taken over tells nobody. What was begun for a
 * client that is gone is on record only where it may not be repeated.
 */
async function attempt(
  runtime: Runtime,
  running: Running,
  tool: Tool,
  key: string,
  input: Json,
  gone?: AbortSignal,
): Promise<ToolAnswer> {
  beginEffect(runtime)
  try {
    const answer = await tool.run(input, buildContext(runtime, running, key, gone))
    // What it saw when it was told to wait no longer is no answer. All others have done what they say.
    if (tool.waits === true) gone?.throwIfAborted()
    return answer
  } catch (error) {
    if (running.abort.signal.aborted || error instanceof Fenced) throw error
    if (gone?.aborted === true && tool.effect !== 'write') throw error
    if (gone?.aborted === true) return clientGone
    return {
      ok: false,
      value: {
        error: { code: 'tool_failed', message: error instanceof Error ? error.message : String(error) },
      },
    }
  } finally {
    endEffect(runtime)
  }
}
