/** Waiting for the end of a turn. */
import type { EventOf } from '../../model/event.ts'
import type { TurnId } from '../../model/id.ts'
import { listen, listenForStop } from '../kernel/runtime.ts'
import type { Runtime } from './runtime.ts'
import { cancel } from './ending.ts'

export async function turnEnding(runtime: Runtime, turn: TurnId): Promise<EventOf<'turn.ended'>> {
  const { promise: ending, resolve, reject } = Promise.withResolvers<EventOf<'turn.ended'>>()
  // It may be rejected while the log is read, before anybody looks at it.
  ending.catch(() => undefined)
  const unsubscribe = listen(runtime.turnWaiters, turn, resolve)
  const forget = listenForStop(runtime, reject)
  try {
    // A turn that does not run here may have ended before anybody listened.
    return (runtime.running.has(turn) ? null : await readEnd(runtime, turn)) ?? (await ending)
  } finally {
    unsubscribe()
    forget()
  }
}

async function readEnd({ store, stopping }: Runtime, turn: TurnId): Promise<EventOf<'turn.ended'> | null> {
  try {
    const row = await store.turn(turn)
    const stored = row?.state === 'ended' && row.endedSeq !== null ? await store.event(row.endedSeq) : null
    return stored?.event.type === 'turn.ended' ? stored.event : null
  } catch (fault) {
    // A store that was closed cannot be read, and who waits learns why from the stop.
    if (stopping.signal.aborted) return null
    throw fault
  }
}

/** The same for somebody who may go away, and has cancelled the turn then. */
export const untilEnded = (
  runtime: Runtime,
  turn: TurnId,
  signal: AbortSignal,
  cause: string,
): Promise<EventOf<'turn.ended'>> =>
  cancelWhenGone(runtime, turn, signal, cause, () => turnEnding(runtime, turn))

/** Waits for what a turn does, for somebody who may go away. */
export async function cancelWhenGone<T>(
  runtime: Runtime,
  turn: TurnId,
  signal: AbortSignal,
  cause: string,
  wait: () => Promise<T>,
): Promise<T> {
  const stop = (): void => void cancel(runtime, turn, 'cancelled', cause).catch(runtime.report)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    return await wait()
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
