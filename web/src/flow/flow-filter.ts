import type { StreamedEvent } from '../../../src/wire/log.ts'
import { opensTurn } from '../../../src/model/opening.ts'

/** Turns belong to a flow by the message or call that opened them, so events must come in order. */
export function createFlowFilter(flow: string): (streamed: StreamedEvent) => boolean {
  const turns = new Set<string>()
  return ({ event }) => {
    if (opensTurn(event) && event.flow === flow) turns.add(event.turn)
    if (event.type === 'call.opened' && event.flow === flow) turns.add(`turn_${event.call.slice(5)}`)
    if (event.type === 'session.created') return event.flow === flow
    return event.turn !== null && turns.has(event.turn)
  }
}
