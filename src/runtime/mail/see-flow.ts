/** A person has seen how a request ended: it no longer waits for them. */
import type { FlowId } from '../../model/id.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { FlowSeen } from '../../wire/flows.ts'
import type { Runtime } from '../look/runtime.ts'
import { toRootTurn } from '../look/flows.ts'

/** Recorded once. One that has not ended is left as it is, because nobody can have seen its end. */
export async function seeFlow(runtime: Runtime, id: string): Promise<FlowSeen | Refusal | null> {
  const flow = id as FlowId
  const turn = toRootTurn(flow)
  const row = await runtime.store.turn(turn)
  if (row === null) return null
  return runtime.store.transact([`session:${row.session}`], async (tx): Promise<FlowSeen | Refusal> => {
    const facts = await tx.turn(turn)
    if (facts?.turn.state !== 'ended')
      return { code: 'bad_input', field: 'id', given: `"${flow}"`, expected: 'a request that has ended' }
    if (!(await tx.seen(row.session, flow)))
      tx.append({ type: 'flow.seen', session: row.session, turn, flow })
    return { flow, seen: true }
  })
}
