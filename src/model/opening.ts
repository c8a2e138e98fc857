/** Which events open a turn. Apart from their shapes, so that code that only folds events needs no schema. */
import type { Event, OpeningMessage } from './event.ts'
import type { TurnId } from './id.ts'

/** Whether a message of this event has a turn of its own. */
export const opensTurn = (event: Event): event is OpeningMessage & { turn: TurnId } =>
  event.turn !== null &&
  (event.type === 'message.sent' || (event.type === 'message.delivered' && event.opens))
