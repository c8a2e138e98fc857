/** A call that may have to end: its turn, what opened it, and whose it is. */
import type { EventOf } from '../../model/event.ts'
import type { SessionRow, TurnRow } from '../../model/facts.ts'
import { toTurnId, type CallId } from '../../model/id.ts'
import type { Runtime } from './runtime.ts'

export type Pending = { row: TurnRow; opened: EventOf<'call.opened'>; session: SessionRow | null }

/** Null where it is known to have ended. Whether it is pending otherwise is known in the transaction that ends it. */
export const findPending = (runtime: Runtime, call: CallId): Pending | null | Promise<Pending | null> =>
  knowHere(runtime, call) ?? lookUp(runtime, call)

/** A turn that runs here has all that at hand: thousands of calls may end in the same moment. */
function knowHere(runtime: Runtime, call: CallId): Pending | null {
  const running = runtime.running.get(toTurnId(call))
  if (running?.input.type !== 'call.opened') return null
  return { row: running.row, opened: running.input, session: running.session }
}

async function lookUp(runtime: Runtime, call: CallId): Promise<Pending | null> {
  const row = await runtime.store.turn(toTurnId(call))
  if (row?.call == null || !row.call.pending) return null
  const opened = (await runtime.store.event(row.openedSeq))?.event
  if (opened?.type !== 'call.opened') throw new Error(`what opened ${call} is not in the log`)
  return { row, opened, session: await runtime.store.session(row.session) }
}
