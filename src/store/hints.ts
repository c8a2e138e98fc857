/** Which hints a commit gives. They only save time. */
import type { Event } from '../model/event.ts'
import { toTurnId } from '../model/id.ts'
import { opensTurn } from '../model/opening.ts'
import type { Hint } from '../runtime/kernel/store-port.ts'

export function collectHints(events: readonly Event[], { first, at }: { first: number; at: number }): Hint[] {
  const hints: Hint[] = []
  const started = new Set<string | null>()
  for (const event of events) if (event.type === 'turn.started') started.add(event.turn)
  for (const event of events) {
    const hint = makeHint(event, started)
    if (hint !== null) hints.push(hint)
  }
  hints.push({ kind: 'appended', events, first, at })
  return hints
}

function makeHint(event: Event, started: ReadonlySet<string | null>): Hint | null {
  if (event.type === 'call.ended') return { kind: 'call.ended', call: event.call, event }
  if (event.type === 'call.opened')
    return started.has(toTurnId(event.call)) ? null : { kind: 'turn.queued', session: event.target }
  if (event.type === 'question.answered') return { kind: 'question.answered', question: event.question }
  if (event.turn === null) return null
  if (event.type === 'call.steered') return { kind: 'call.steered', turn: event.turn, event }
  if (event.type === 'turn.ended')
    return { kind: 'turn.ended', turn: event.turn, session: event.session, event }
  if (event.type === 'turn.cancelled')
    return { kind: 'turn.cancelled', turn: event.turn, outcome: event.outcome }
  if (opensTurn(event) && !started.has(event.turn)) return { kind: 'turn.queued', session: event.session }
  return null
}

export function tellAll(listeners: Iterable<(hints: readonly Hint[]) => void>, hints: readonly Hint[]): void {
  for (const listener of listeners) {
    try {
      listener(hints)
    } catch (fault) {
      // A listener must not keep the others, or the next group, from going on.
      process.emitWarning(fault instanceof Error ? fault : String(fault))
    }
  }
}
