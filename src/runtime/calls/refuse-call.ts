/** A call that could not even be read as one is recorded once, like every other. */
import { commit, assertOurs } from '../kernel/commit.ts'
import type { CallRequest, CallResult } from '../kernel/ports.ts'
import { hashText } from '../kernel/recorded.ts'
import type { Running } from '../kernel/running.ts'
import type { EventOf } from '../../model/event.ts'
import type { CallId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import type { Refusal } from '../../model/refusal.ts'
import { preview } from '../../model/text.ts'
import { refusedResult } from './call-events.ts'
import type { Runtime } from './runtime.ts'

export async function refuseCall(
  runtime: Runtime,
  running: Running,
  tool: CallRequest['tool'],
  requested: Json,
  refusal: Refusal,
  key: string,
): Promise<CallResult> {
  const recorded = running.recorded?.call(key, { tool })
  const call: CallId = recorded?.call ?? `call_${runtime.ids.next()}`
  const asked =
    typeof requested === 'object' && requested !== null && !Array.isArray(requested) ? requested : {}
  const agent = preview(renderField(asked['agent_name'] ?? asked['agent_id']), agentShownMax)
  if (recorded === undefined) {
    const task = preview(renderField(asked['task'] ?? asked['message']), taskShownMax)
    const event: EventOf<'call.refused'> = {
      type: 'call.refused',
      session: running.row.session,
      turn: running.row.id,
      call,
      key,
      tool,
      agent,
      task,
      taskHash: hashText(task),
      requested,
      refusal,
    }
    await commit(
      runtime,
      running,
      [`session:${running.row.session}`, `call:${call}`],
      async (tx, buffered) => {
        assertOurs(await tx.activation(running.row.id), running, runtime)
        tx.append(...buffered, event)
      },
    )
  }
  return refusedResult(running, call, agent, refusal)
}

const taskShownMax = 2000
const agentShownMax = 200
const renderField = (value: Json | undefined): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
