/**
 * Sessions that were made here for an agent that a connected program runs: by a message to a new session, a fork, a spawn or a call. There is nobody behind them yet.
 * When one has something to do, a program of that agent is asked to make its own of it; where none is there, it waits for one.
 */
import type { SessionId } from '../../model/id.ts'
import type { Clock, Hint, Store } from '../../runtime/ports.ts'
import type { HostHub, Wanted } from './hub.ts'

export type WantedDeps = { hub: HostHub; store: Pick<Store, 'session' | 'read' | 'due'>; clock: Clock; isHosted: (agent: string) => boolean; report: (fault: unknown) => void }

const lookedAtMax = 256

/** The returned function is told of every hint. */
export function wantedSessions({ hub, store, clock, isHosted, report }: WantedDeps): (hint: Hint) => void {
  const ask = async (session: SessionId): Promise<void> => {
    if (hub.isThere(session)) return
    const row = await store.session(session)
    if (row !== null && isHosted(row.agent)) hub.want({ session, agent: row.agent, cwd: row.cwd, title: row.title, from: await originOf(store, session) })
  }
  const askAll = async (): Promise<void> => {
    for (const session of (await store.due(clock.now(), lookedAtMax)).sessions) await ask(session)
  }
  hub.onJoined(() => void askAll().catch(report))
  return (hint) => {
    if (hint.kind === 'turn.queued') void ask(hint.session).catch(report)
  }
}

/** The conversation of such a session is its program's, so only the program knows which message is how many back. */
async function originOf(store: Pick<Store, 'read'>, session: SessionId): Promise<Wanted['from']> {
  const { events: [found] } = await store.read(0, { sessions: [session], types: ['session.forked'] }, 1)
  return found?.event.type === 'session.forked' ? { session: found.event.from, back: found.event.back } : null
}
