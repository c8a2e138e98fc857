/** As whom a request acts when it names a session: nobody can name somebody else. */
import type { SessionRow } from '../model/facts.ts'
import type { SessionId } from '../model/id.ts'
import type { Refusal } from '../model/refusal.ts'
import type { Who } from '../runtime/exchange.ts'
import type { Deps } from './route.ts'
import { isRefusal } from './wire-error.ts'

/**
 * The session that a request speaks for, or null for the user's own words. A session's token speaks for that
 * session alone.
 * Without tokens there is no proof, so a name is believed only where somebody can be behind it: a session
 * with a live turn, or a client outside.
 */
export async function senderOf(
  { exchange, identity }: Pick<Deps, 'exchange' | 'identity'>,
  who: Who,
  field: string,
  given: string | null,
): Promise<{ session: SessionId | null } | Refusal> {
  if (who.kind === 'turn')
    return {
      code: 'not_allowed',
      agent: 'The token of a turn',
      what: 'send messages here',
      allowed: ['send_agent_message at /mcp'],
    }
  if (given === null) return { session: who.kind === 'session' ? who.session : null }
  const found = await exchange.findSession(given)
  if (isRefusal(found)) return found
  if (who.kind === 'session')
    return found.id === who.session
      ? { session: found.id }
      : notAs(`The token of session ${who.session}`, `act as ${found.id} (${field})`, `${field} left out`)
  if (identity.mode === 'tokens')
    return notAs(
      'The token of the server',
      `act as session ${found.id} (${field})`,
      'the token of that session',
    )
  return (await isBehind(exchange, found))
    ? { session: found.id }
    : notAs(
        'A request without a token',
        `act as session ${found.id} (${field}), which has no live turn and is not external`,
        'a session that is running now',
      )
}

const notAs = (agent: string, what: string, allowed: string): Refusal => ({
  code: 'not_allowed',
  agent,
  what,
  allowed: [allowed],
})

async function isBehind(exchange: Deps['exchange'], row: SessionRow): Promise<boolean> {
  if (row.kind === 'external') return true
  const state = await exchange.state(row.id)
  return !isRefusal(state) && state.isActive
}
