/** Clients that follow the log at one node each, through all its restarts, and compare what they hear. */
import { pause } from '../hostile/attack.ts'
import { tielineClient } from '../src/client/client.ts'
import type { History } from './history.ts'
import type { Member } from './member.ts'

export async function follow(member: Member, history: History, signal: AbortSignal): Promise<void> {
  let last: string | null = null
  const client = tielineClient({ url: member.url })
  while (!signal.aborted) {
    try {
      for await (const { seq, event } of client.events({ after: last ?? '0', signal })) {
        history.hear(member.name, seq, last, `${event.type} ${event.session} ${event.turn ?? ''}`)
        last = seq
      }
    } catch {
      // It could not be reached, or it refused: it is asked again, for what comes after the last one.
    }
    await pause(200, signal)
  }
}
