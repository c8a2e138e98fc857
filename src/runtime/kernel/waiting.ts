/** Waiting for a call to end: hints make it quick, looking makes it sure. */
import { mapGently } from './gently.ts'
import type { EventOf } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { toTurnId, type CallId, type TurnId } from '../../model/id.ts'
import { describeMove } from '../../model/fallback.ts'
import { recalledSpent } from '../../model/money.ts'
import { listen, type Runtime } from './runtime.ts'
import type { CallResult } from './ports.ts'

/** `opened` has the grant; and the notes, where it is the event that opened the call. */
export function toResult(
  ended: EventOf<'call.ended'>,
  opened: Pick<TurnRow, 'grant'> & { notes?: readonly string[] | undefined },
): CallResult {
  return {
    call: ended.call,
    agent: ended.moved?.to ?? opened.grant.agent,
    outcome: ended.outcome,
    output: ended.output,
    truncated: ended.truncated,
    errors: ended.errors,
    toolCalls: ended.toolCalls,
    tokensUsed: ended.tokensUsed,
    spent: recalledSpent(ended.spent, ended.tokensUsed),
    durationMs: Math.max(0, ended.endedAt - ended.openedAt),
    iterations: ended.iterations,
    path: opened.grant.path.map((hop) => hop.agent).with(-1, ended.moved?.to ?? opened.grant.agent),
    refusal: null,
    notes: [...(opened.notes ?? []), ...(ended.moved === undefined ? [] : [describeMove(ended.moved)])],
  }
}

/** The ending of a call if it has ended, from the log. */
export async function readEnding(
  runtime: Runtime,
  call: CallId,
): Promise<{ ended: EventOf<'call.ended'>; row: TurnRow } | null> {
  const row = await runtime.store.turn(toTurnId(call))
  if (row === null || row.call === null || row.call.pending || row.endedSeq === null) return null
  const stored = await runtime.store.event(row.endedSeq)
  if (stored?.event.type !== 'call.ended') return null
  return { ended: stored.event, row }
}

/**
 * Resolves with the ending. Whoever learns of it first calls `settleCall`: a hint, the deadline, or the
 * sweep.
 */
export function callEnding(
  runtime: Runtime,
  call: CallId,
): { ending: Promise<EventOf<'call.ended'>>; forget: () => void } {
  let forget = (): void => undefined
  const ending = new Promise<EventOf<'call.ended'>>((resolve) => {
    forget = listen(runtime.callWaiters, call, resolve)
  })
  return { ending, forget: () => forget() }
}

export function settleCall(runtime: Runtime, ended: EventOf<'call.ended'>): void {
  const waiters = runtime.callWaiters.get(ended.call)
  if (waiters === undefined) return
  runtime.callWaiters.delete(ended.call)
  for (const resolve of waiters) resolve(ended)
}

export function settleTurn(runtime: Runtime, turn: TurnId, ended: EventOf<'turn.ended'>): void {
  const waiters = runtime.turnWaiters.get(turn)
  if (waiters === undefined) return
  runtime.turnWaiters.delete(turn)
  for (const resolve of waiters) resolve(ended)
}

/** For hints that were lost: settles every waiter here whose call or turn has ended. */
export async function lookForEndings(runtime: Runtime): Promise<void> {
  await mapGently(runtime, Array.from(runtime.callWaiters.keys()), async (call) => {
    const found = await readEnding(runtime, call)
    if (found !== null) settleCall(runtime, found.ended)
  })
  await mapGently(runtime, Array.from(runtime.turnWaiters.keys()), async (turn) => {
    const row = await runtime.store.turn(turn)
    if (row?.state !== 'ended' || row.call !== null || row.endedSeq === null) return
    const stored = await runtime.store.event(row.endedSeq)
    if (stored?.event.type === 'turn.ended') settleTurn(runtime, turn, stored.event)
  })
}

/** Rejects with the signal's reason when that aborts first. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    promise.then((value) => {
      signal.removeEventListener('abort', abort)
      resolve(value)
    }, reject)
  })
}
