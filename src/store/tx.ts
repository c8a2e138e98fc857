/** The facts that one work may read, and where its events wait until it returns. */
import type { Event } from '../model/event.ts'
import type { Millis } from '../model/id.ts'
import type { Tx } from '../runtime/kernel/store-port.ts'
import {
  acceptedFacts,
  activationFacts,
  belowFacts,
  inboxFacts,
  mailFacts,
  messageFacts,
  noticeFacts,
  openFacts,
  questionFacts,
  sendFacts,
  sessionFacts,
  tracedFacts,
  turnFacts,
  type FactStatements,
} from './facts.ts'

export function createTx(
  facts: FactStatements,
  at: Millis,
  held: ReadonlySet<string> | null,
  events: Event[],
): Tx {
  return {
    now: at,
    turn: async (id) => turnFacts(facts, id, held),
    activation: async (id) => activationFacts(facts, id, held),
    session: async (id) => sessionFacts(facts, id, at, held),
    open: async (query) => openFacts(facts, query, at, held),
    send: async (query) => sendFacts(facts, query, at, held),
    question: async (id) => questionFacts(facts, id, held),
    notices: async (session) => noticeFacts(facts, session, held),
    traced: async (session, key) => tracedFacts(facts, session, key, held),
    message: async (id) => messageFacts(facts, id, held),
    inbox: async (id, ask) => inboxFacts(facts, id, ask, held),
    accepted: async (act) => acceptedFacts(facts, act, held),
    mail: async (id) => mailFacts(facts, id, held),
    below: async (turn) => {
      const row = turnFacts(facts, turn, held)
      return row === null ? [] : belowFacts(facts, row.turn.session, turn, held)
    },
    append: (...more) => {
      events.push(...more)
    },
  }
}
