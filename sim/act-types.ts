/** What a run of a turn records when it does something, or stops in good order. */
import type { Event } from '../src/model/event.ts'

export const actTypes: ReadonlySet<Event['type']> = new Set([
  'step.started',
  'step.ended',
  'call.opened',
  'call.refused',
  'call.ended',
  'wait.started',
  'question.asked',
  'question.answered',
  'turn.suspended',
])
