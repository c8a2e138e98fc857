/** Makes durable what waits in the buffer of a turn, at once or while it goes on. */
import type { Event } from '../../model/event.ts'
import { assertOurs, commit, record, takeBuffer } from './commit.ts'
import { Stopped } from './faults.ts'
import type { Flushing, Running } from './running.ts'
import type { Runtime } from './runtime.ts'
import type { Tx } from './store-port.ts'

/** Together with `more`. */
export async function flush(runtime: Runtime, running: Running, more: readonly Event[] = []): Promise<void> {
  await commit(runtime, running, [`session:${running.row.session}`], async (tx, buffered) => {
    await assertGoesOn(runtime, running, tx)
    tx.append(...buffered, ...more)
  })
}

/**
 * The same while the turn goes on. The buffer is taken when it is written, so that a commit which comes first
 * takes it along, and the end of a turn does not wait for it.
 */
export function flushSoon(runtime: Runtime, running: Running): void {
  const flushing: Flushing = { begun: false, held: [], done: Promise.resolve() }
  const { buffer } = running
  let taken: Event[] = []
  const work = async (tx: Tx): Promise<void> => {
    // A commit that came first has taken it: what is in the buffer now is younger, and must not overtake that.
    if (!flushing.begun && (running.buffer !== buffer || buffer.length === 0)) return
    await assertGoesOn(runtime, running, tx)
    if (!flushing.begun) taken = takeBuffer(running)
    flushing.begun = true
    tx.append(...taken)
  }
  const over = (): void => {
    flushing.begun = false
    const shows = flushing.held ?? []
    flushing.held = null
    for (const show of shows) show()
  }
  flushing.done = record(runtime, running, [`session:${running.row.session}`], () => taken, work).finally(
    over,
  )
  // Who needs it waits for it, and learns why it was refused.
  flushing.done.catch(() => undefined)
  running.flushing = flushing
}

async function assertGoesOn(runtime: Runtime, running: Running, tx: Tx): Promise<void> {
  const { stopping } = assertOurs(await tx.activation(running.row.id), running, runtime)
  // Nothing is begun for a turn that was told to stop, also where it has not heard of it yet.
  if (stopping !== null) throw new Stopped(stopping)
}
