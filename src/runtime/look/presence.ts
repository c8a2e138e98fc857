/** What lists show of a program that the user has open. */
import { findAgent } from '../kernel/projects-port.ts'
import type { SessionRow } from '../../model/facts.ts'
import { judgePresence, type ClientState } from '../../model/presence.ts'
import type { Runtime } from './runtime.ts'
import { isRun } from './state.ts'

export type SeenClient = { presence: ClientState | null; wakeable: boolean; quietUntil: number | null }

/** Null for a session that no program ever had open. One that a connected program runs is there with it. */
export async function seeClient(runtime: Runtime, row: SessionRow, active: boolean): Promise<SeenClient> {
  const facts = await runtime.lists.client(row.id)
  const quietUntil = facts.quietUntil > runtime.clock.now() ? facts.quietUntil : null
  if (row.kind === 'persistent' && findAgent(runtime, row)?.driver === 'host') {
    const wakeable = isRun(runtime, row)
    // What a person does in it is no turn of ours.
    const works = active || runtime.presence.get(row.id)?.state === 'working'
    return { presence: wakeable ? (works ? 'working' : 'idle') : 'away', wakeable, quietUntil }
  }
  if (facts.program === '') return { presence: null, wakeable: false, quietUntil }
  const present = runtime.presence.get(row.id)
  const sign = present === undefined ? null : { ...present, isAwaited: present.waiter !== null }
  const { state, wakeable } = judgePresence(facts.open, sign, runtime.clock.elapsed())
  return { presence: state, wakeable, quietUntil }
}
