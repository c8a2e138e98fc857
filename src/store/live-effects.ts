/** Which events the memory of what is going on folds, and which take a session out of it. */
import type { EventType } from '../model/event.ts'

/**
 * What an event does in memory. `takesOut`: it changes more of a session than is kept there. `none`: it changes
 * neither a turn nor a session.
 */
export const effects: { readonly [T in EventType]: 'fold' | 'takesOut' | 'none' } = {
  'session.created': 'fold',
  'session.archived': 'takesOut',
  'session.adopted': 'takesOut',
  'session.renamed': 'takesOut',
  'session.forked': 'takesOut',
  'session.cancelled': 'none',
  'session.claimed': 'fold',
  'session.woken': 'none',
  'session.opened': 'none',
  'session.closed': 'none',
  'session.quieted': 'none',
  'agent.created': 'none',
  'agent.deleted': 'none',
  'question.asked': 'none',
  'question.answered': 'none',
  'flow.seen': 'none',
  'message.sent': 'fold',
  'message.delivered': 'takesOut',
  'message.drafted': 'none',
  'message.revised': 'none',
  'message.released': 'none',
  'message.accepted': 'none',
  'message.answered': 'none',
  'message.declined': 'none',
  'message.died': 'none',
  'mail.announced': 'none',
  'turn.started': 'fold',
  'turn.cancelled': 'fold',
  'turn.suspended': 'none',
  'turn.ended': 'fold',
  'step.started': 'none',
  'step.ended': 'fold',
  'call.opened': 'fold',
  'call.refused': 'none',
  'call.steered': 'none',
  'call.ended': 'fold',
  'wait.started': 'none',
  'wait.ended': 'none',
  'notice.raised': 'takesOut',
}
