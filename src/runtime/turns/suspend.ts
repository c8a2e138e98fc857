import type { TurnRow } from '../../model/facts.ts'
import type { Runtime } from './runtime.ts'

/**
 * Says that a turn did not take this process with it. Where that cannot be recorded, the turn counts as one
 * that did.
 */
export async function suspend(
  runtime: Runtime,
  { id: turn, session }: TurnRow,
  epoch: number,
): Promise<void> {
  await runtime.store
    .transact([`session:${session}`], async (tx) => {
      const facts = await tx.activation(turn)
      if (facts?.state === 'running' && facts.node === runtime.node && facts.epoch === epoch)
        tx.append({ type: 'turn.suspended', session, turn, node: runtime.node, epoch })
    })
    .catch(() => undefined)
}
