/**
 * Programs that the user has open, as this server hears of them. That one was opened or closed is on record; what
 * it does at the moment is not, since the next word from it says so again.
 */
import type { SessionId } from '../../model/id.ts'
import type { Moment } from '../../model/wake.ts'
import type { Presence, Runtime } from '../kernel/runtime.ts'

/** R11: the ones that were silent longest are forgotten, and are away. */
const presentMax = 10_000

/** The session is open from now on; recorded where it was not. */
export async function openClient(runtime: Runtime, session: SessionId, program: string): Promise<Presence> {
  const known = runtime.presence.get(session)
  if (known !== undefined) return known
  await runtime.store.transact([`session:${session}`], async (tx) => {
    const { open } = await tx.client(session)
    if (!open) tx.append({ type: 'session.opened', session, turn: null, program })
  })
  const meanwhile = runtime.presence.get(session)
  if (meanwhile !== undefined) return meanwhile
  const [oldest] = runtime.presence.keys()
  if (runtime.presence.size >= presentMax && oldest !== undefined) runtime.presence.delete(oldest)
  const made: Presence = {
    state: 'idle',
    heardAt: runtime.clock.elapsed(),
    leftAt: null,
    waiter: null,
    onChange: new Set(),
  }
  runtime.presence.set(session, made)
  return made
}

/** What it waits for its mail with is let go too. */
export async function closeClient(runtime: Runtime, session: SessionId, cause: string): Promise<void> {
  const known = runtime.presence.get(session)
  runtime.presence.delete(session)
  known?.waiter?.abort()
  await runtime.store.transact([`session:${session}`], async (tx) => {
    const { open } = await tx.client(session)
    if (open) tx.append({ type: 'session.closed', session, turn: null, cause })
  })
}

/** `goesOn`: it would rest, and was made to go on. */
export function hear(runtime: Runtime, present: Presence, moment: Moment, goesOn: boolean): void {
  present.heardAt = runtime.clock.elapsed()
  setState(present, (moment === 'resting' || moment === 'started') && !goesOn ? 'idle' : 'working')
}

export function setState(present: Presence, state: Presence['state']): void {
  if (present.state === state) return
  present.state = state
  for (const told of Array.from(present.onChange)) told()
}
