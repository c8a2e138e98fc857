/**
 * R5: an edge stands until the end of its wait is recorded, or its turn ends, whatever the clock says. A run that its
 * node took with it can't record that, so whoever takes the turn over does; the new run says what it waits for.
 */
import type { Event } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import type { Recorded } from '../kernel/recorded.ts'
import { readAll } from '../kernel/scope.ts'
import type { Runtime } from './runtime.ts'

/** `row`: the turn as this node has taken it. */
export async function endOldWaits(runtime: Runtime, row: TurnRow, { runs }: Recorded): Promise<void> {
  // Most turns wait for no session.
  if (!runs.some(({ event }) => event.type === 'wait.started')) return
  const open = await listOpen(runtime, row)
  if (open.length === 0) return
  await runtime.store.transact([`session:${row.session}`], async (tx) => {
    const now = await tx.activation(row.id)
    if (now?.state !== 'running' || now.node !== runtime.node || now.epoch !== row.epoch) return
    tx.append(
      ...open.map((target): Event => {
        const { session, id: turn } = row
        return { type: 'wait.ended', session, turn, target, reason: 'its node is gone' }
      }),
    )
  })
}

async function listOpen({ store }: Runtime, { id, session, openedSeq }: TurnRow): Promise<SessionId[]> {
  const open = new Set<SessionId>()
  const filter = { sessions: [session], types: ['wait.started', 'wait.ended'] as const }
  for (const { event } of await readAll(store, openedSeq - 1, filter)) {
    if (event.turn !== id) continue
    if (event.type === 'wait.started') open.add(event.target)
    if (event.type === 'wait.ended') open.delete(event.target)
  }
  return [...open]
}
