/** Which hints a commit gives. They only save time. */
import type { Event } from '../model/event.ts'
import { turnOf } from '../model/id.ts'
import type { Hint } from '../runtime/ports.ts'

export function hintsOf(events: readonly Event[], hints: Hint[]): void {
  const started = new Set<string | null>()
  for (const event of events) if (event.type === 'turn.started') started.add(event.turn)
  for (const event of events) {
    switch (event.type) {
      case 'call.ended': hints.push({ kind: 'call.ended', call: event.call, event }); break
      case 'turn.ended': if (event.turn !== null) hints.push({ kind: 'turn.ended', turn: event.turn, session: event.session, event }); break
      case 'turn.cancelled': if (event.turn !== null) hints.push({ kind: 'turn.cancelled', turn: event.turn, outcome: event.outcome }); break
      case 'message.sent': if (!started.has(event.turn)) hints.push({ kind: 'turn.queued', session: event.session }); break
      case 'call.opened': if (!started.has(turnOf(event.call))) hints.push({ kind: 'turn.queued', session: event.target }); break
      default: break
    }
  }
  hints.push({ kind: 'appended' })
}
