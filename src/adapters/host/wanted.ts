/**
 * Sessions that were made here for an agent that a connected program runs: by a message to a new session, a
 * fork, a spawn or a call. There is nobody behind them yet.
 * When one has something to do, a program of that agent is asked to make its own of it; where none is there,
 * it waits for one. Where all that are there have failed, what waits for it fails too.
 */
import type { SessionId } from '../../model/id.ts'
import type { Alarm } from '../../runtime/kernel/alarm.ts'
import type { Hint, Store } from '../../runtime/kernel/store-port.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import type { HostHub, Wanted } from './hub.ts'

export type WantedDeps = {
  hub: HostHub
  store: Pick<Store, 'session' | 'read' | 'due'>
  clock: Clock
  alarm: Alarm
  isHosted: (agent: string) => boolean
  /** Ends what is queued for a session, with the reason. */
  fail: (session: SessionId, why: string) => Promise<void>
  report: (fault: unknown) => void
}

const lookedAtMax = 256
/** How long a program may take to make a session. */
export const openMsMax = 60_000

/** The returned function takes every hint. */
export function wantedSessions(deps: WantedDeps): (hint: Hint) => void {
  const { hub, store, clock, alarm, isHosted, fail, report } = deps
  const ask = async (session: SessionId): Promise<void> => {
    if (hub.isThere(session)) return
    const row = await store.session(session)
    if (row === null || !isHosted(row.agent)) return
    const { agent, cwd, title } = row
    hub.want({ session, agent, cwd, title, from: await findOrigin(store, session) })
  }
  const askAll = async (): Promise<void> => {
    for (let after: SessionId | null = null; ;) {
      const { sessions, next } = await store.due(clock.now(), lookedAtMax, after)
      for (const session of sessions) await ask(session)
      if (next === null) return
      after = next
    }
  }
  hub.onAsked((late) => void alarm.after(openMsMax, () => late(`it was not there after ${openMsMax} ms`)))
  hub.onHopeless(
    (session, why) =>
      void fail(session, `host_failed: the program could not open ${session}: ${why}`).catch(report),
  )
  hub.onJoined(() => void askAll().catch(report))
  return (hint) => {
    if (hint.kind === 'turn.queued') void ask(hint.session).catch(report)
  }
}

/** The conversation is the program's, so only the program knows which message is how many back. */
async function findOrigin(store: Pick<Store, 'read'>, session: SessionId): Promise<Wanted['from']> {
  const {
    events: [found],
  } = await store.read(0, { sessions: [session], types: ['session.forked'] }, 1)
  return found?.event.type === 'session.forked' ? { session: found.event.from, back: found.event.back } : null
}
