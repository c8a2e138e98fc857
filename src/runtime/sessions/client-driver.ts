/**
 * What a program outside asked for, done in a turn: in one that runs, or in a turn of the client's own, which
 * this drives.
 *
 * R2: the answer is the output of the client's turn, and the client is answered when the turn's end is durable.
 * Only a call in the background is answered before that, after the commit that opened it. What was asked for is
 * on record, so another process can go on with the turn after a crash (R10).
 */
import type { ToolAsk } from '../../model/event.ts'
import { isCallId, type CallId } from '../../model/id.ts'
import { isRecord, textAt, type Json } from '../../model/json.ts'
import { readInput } from '../../model/read-input.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import { SubAgentInput } from '../../wire/calls.ts'
import { callAgent } from '../calls/call.ts'
import { refuseCall } from '../calls/refuse-call.ts'
import { renderBegun, renderResult, toCallRequest } from '../calls/sub-agent.ts'
import { Fenced } from '../kernel/faults.ts'
import type { CallRequest, Driver, ToolAnswer } from '../kernel/ports.ts'
import type { Running } from '../kernel/running.ts'
import type { Runtime } from './runtime.ts'
import { callEnding, readEnding } from '../kernel/waiting.ts'
import { beginUse, refuseUse, runToolOutside, type Doing } from '../turns/run-tool.ts'

export type Work = (running: Running) => Promise<ToolAnswer>

/** A call is opened as it is; everything else is a use of a tool of the turn. */
export async function doAsked(
  runtime: Runtime,
  running: Running,
  { tool, input }: ToolAsk,
  doing: Doing = {},
): Promise<ToolAnswer> {
  if (tool === 'sub_agent') return call(runtime, running, input, doing)
  if (doing.no == null) return runToolOutside(runtime, running, tool, input, doing)
  const { key, refusal } = await beginUse(runtime, running, tool, input, doing)
  return refuseUse(runtime, running, tool, input, refusal ?? doing.no, key)
}

/** The same as the tool does in a model's turn, with the same rules and the same record. */
async function call(runtime: Runtime, running: Running, input: Json, doing: Doing): Promise<ToolAnswer> {
  const use = await beginUse(runtime, running, 'sub_agent', input, doing)
  try {
    const settled = use.refusal ?? use.tool.settle?.(input) ?? { input }
    const asked = isRefusal(settled) ? input : settled.input
    const request = isRefusal(settled) ? settled : readCall(asked)
    const result = isRefusal(request)
      ? await refuseCall(runtime, running, 'sub_agent', asked, request, use.key)
      : await callAgent(runtime, running, request, use.key, doing.gone)
    if (result.outcome !== 'refused') running.toolCalls.add('sub_agent')
    return result.outcome === null
      ? renderBegun(textAt(asked, 'agent_name'), result, running.session.kind === 'external')
      : await renderResult(result, runtime.limits.resultShownTokens, runtime.count)
  } finally {
    use.end()
  }
}

function readCall(input: Json): CallRequest | Refusal {
  const read = readInput(SubAgentInput, input)
  return isRefusal(read) ? read : toCallRequest(read.data)
}

/** Who waits for a client's turn here. */
type Listener = {
  /** Told of a call in the background, as soon as it is open. */
  begun(answer: ToolAnswer): void
  /** Told of every other answer; the end of the turn makes it durable. */
  said(answer: ToolAnswer): void
}

/** The turn stays open until a call in the background has ended, because the call would end with it. */
export const clientDriver = (runtime: Runtime, work: Work, listener?: Listener): Driver => ({
  async run({ turn }, _steps, signal) {
    const running = runtime.running.get(turn.id)
    if (running === undefined) throw new Fenced(`${turn.id} does not run here`)
    const answer = await work(running)
    const call = backgroundCall(answer)
    if (call === null) listener?.said(answer)
    else {
      listener?.begun(answer)
      await untilEnded(runtime, call, signal)
    }
    const notice = call === null ? null : await describeResult(runtime, call)
    return {
      outcome: 'completed',
      output: JSON.stringify(answer),
      error: null,
      iterations: 0,
      ...(notice === null ? {} : { notice }),
    }
  },
})

/**
 * Undefined where the session's own agent runs the turn. A turn that was taken over runs from its record,
 * whatever a retry brought meanwhile.
 */
export function driverOfClient(
  runtime: Runtime,
  { row, session, input, recorded }: Running,
): Driver | undefined {
  if (session.kind !== 'external') return undefined
  const asked = input.type === 'message.sent' ? input.use : undefined
  if (recorded === null || asked === undefined) return runtime.clients.get(row.id)
  return clientDriver(runtime, (running) => doAsked(runtime, running, asked))
}

/** What the client is told, which was answered when the call began. Nothing of what it has read already. */
async function describeResult(
  runtime: Runtime,
  call: CallId,
): Promise<{ about: string; text: string } | null> {
  const found = runtime.readResults.has(call) ? null : await readEnding(runtime, call)
  if (found === null) return null
  const { outcome, output, errors } = found.ended
  const said = outcome === 'completed' ? output : [...errors, output].filter((part) => part !== '').join('\n')
  return { about: call, text: `${found.row.grant.agent}: ${outcome}\n${said}` }
}

function backgroundCall({ value }: ToolAnswer): CallId | null {
  const call = textAt(value, 'call_id')
  return isRecord(value) && value['outcome'] === null && isCallId(call) ? call : null
}

async function untilEnded(runtime: Runtime, call: CallId, signal: AbortSignal): Promise<void> {
  const { ending, forget } = callEnding(runtime, call)
  try {
    // After a crash it may have ended before anybody listened here.
    if ((await readEnding(runtime, call)) !== null) return
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => reject(signal.reason)
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
      void ending.then(() => resolve())
    })
  } finally {
    forget()
  }
}
