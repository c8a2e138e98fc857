/** Waiting for the end of a turn. */
import type { EventOf } from '../../model/event.ts'
import type { TurnId } from '../../model/id.ts'
import { listen } from '../kernel/runtime.ts'
import type { Runtime } from './runtime.ts'
import { cancel } from './ending.ts'

export async function turnEnding(runtime: Runtime, turn: TurnId): Promise<EventOf<'turn.ended'>> {
  let forget = (): void => undefined
  const ending = new Promise<EventOf<'turn.ended'>>((resolve, reject) => {
    const unsubscribe = listen(runtime.turnWaiters, turn, resolve)
    const closed = (): void =>
      reject(
        new Error(
          'Tieline was closed before the run had ended; it goes on when its data directory is opened again',
        ),
      )
    runtime.atStop.add(closed)
    forget = () => {
      unsubscribe()
      runtime.atStop.delete(closed)
    }
  })
  // It may be rejected while the log is read, before anybody looks at it.
  ending.catch(() => undefined)
  try {
    // A turn that does not run here may have ended before anybody listened.
    const row = runtime.running.has(turn) ? null : await runtime.store.turn(turn)
    const stored =
      row?.state === 'ended' && row.endedSeq !== null ? await runtime.store.event(row.endedSeq) : null
    return stored?.event.type === 'turn.ended' ? stored.event : await ending
  } finally {
    forget()
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
