/**
 * What runs a client's turn in place of a driver: the one tool that the client asked for.
 *
 * R2: the tool's answer is the output of the turn, and the client is answered when the turn's end is durable.
 * Only a call in the background is answered
 * before that, after the commit that opened it. What was asked for is on record, so another process can go on
 * with the turn after a crash (R10).
 */
import type { ToolAsk } from '../../model/event.ts'
import { isCallId, type CallId, type TurnId } from '../../model/id.ts'
import type { Runtime } from '../kernel/runtime.ts'
import type { Driver, Steps, ToolAnswer } from '../kernel/ports.ts'
import type { Running } from '../kernel/running.ts'
import { callEnding, readEnding } from '../kernel/waiting.ts'

export type Work = (turn: TurnId, steps: Steps) => Promise<ToolAnswer>

export const useTool =
  ({ tool, input }: ToolAsk): Work =>
  (_turn, steps) =>
    steps.tool(tool, input)

/**
 * `begun` is told of a call in the background. The turn stays open until that call has ended, because the
 * call would end with it.
 */
export const clientDriver = (runtime: Runtime, work: Work, begun: (answer: ToolAnswer) => void): Driver => ({
  async run({ turn }, steps, signal) {
    const answer = await work(turn.id, steps)
    const call = backgroundCall(answer)
    if (call !== null) {
      begun(answer)
      await untilEnded(runtime, call, signal)
    }
    return { outcome: 'completed', output: JSON.stringify(answer), error: null, iterations: 0 }
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
  return clientDriver(runtime, useTool(asked), () => undefined)
}

function backgroundCall({ value }: ToolAnswer): CallId | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value) || value['outcome'] !== null)
    return null
  const call = value['call_id']
  return typeof call === 'string' && isCallId(call) ? call : null
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
