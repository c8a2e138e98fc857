/** The work of the message benches: one short message that is answered at once. */
import { expectStatus } from './http-load.ts'
import type { WireClient } from './wire-client.ts'

export const instantAnswer = 'Noted. Nothing else is needed for this one.'

let messages = 0
/** Every text is new, so that caching whole texts gains nothing. */
export const nextMessage = (): string =>
  `The build of branch ${(messages += 1)} is green again; please note it in today's list.`

/** Rotates through the sessions, so that none has a queue. */
export function postInTurn(sessions: readonly string[]): (client: WireClient) => Promise<void> {
  let count = 0
  return async (client) => {
    const session = sessions[(count += 1) % sessions.length] ?? ''
    expectStatus(
      await client.post(`/api/sessions/${session}/messages`, JSON.stringify({ message: nextMessage() })),
      202,
      '"messageId"',
    )
  }
}
