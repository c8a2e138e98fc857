/**
 * Waits in place of a program that the user has open, until there is something to tell it. One waiter for each
 * session: the next one takes the place of the one before. What is told follows from what is in the inbox and
 * what was announced, never from a hint (R9).
 */
import type { SessionId } from '../../model/id.ts'
import { userSession } from '../../model/mail.ts'
import type { Presence } from '../kernel/runtime.ts'
import type { Hint } from '../kernel/store-port.ts'
import { nap } from '../look/state.ts'
import type { Runtime } from '../turns/runtime.ts'
import { announceMail, type Announced, type Told } from './announce.ts'
import { setState } from './presence.ts'

/** The end of a quiet time, and an hour that has passed, are found by looking. */
const lookAgainMs = 2000

export type News = Announced & { status: 'told' | 'nothing' | 'replaced' }

const nothing: News = { text: '', woken: false, status: 'nothing' }

/** `busy`: it can be told while it works, as with a tool result. */
export async function awaitNews(
  runtime: Runtime,
  told: Told,
  present: Presence,
  { ms, busy, signal }: { ms: number; busy: boolean; signal: AbortSignal },
): Promise<News> {
  present.waiter?.abort()
  const mine = new AbortController()
  present.waiter = mine
  present.leftAt = null
  const end = runtime.clock.elapsed() + ms
  const over = AbortSignal.any([signal, mine.signal, runtime.stopping.signal])
  const { news, unsubscribe } = listenFor(runtime, told, present, over)
  try {
    for (;;) {
      const next = news()
      const left = end - runtime.clock.elapsed()
      if (mine.signal.aborted) return { ...nothing, status: 'replaced' }
      if (over.aborted || left <= 0) return nothing
      const moment = present.state === 'idle' ? 'resting' : busy ? 'used' : null
      const said = moment === null ? null : await announceMail(runtime, told, moment)
      if (said !== null) {
        setState(present, 'working')
        return { ...said, status: 'told' }
      }
      await Promise.race([next, nap(runtime, Math.min(left, lookAgainMs), over)])
    }
  } finally {
    unsubscribe()
    if (present.waiter === mine) present.waiter = null
    present.leftAt = runtime.clock.elapsed()
  }
}

/** Something may have changed for it. */
function listenFor(runtime: Runtime, { session, inbox }: Told, present: Presence, over: AbortSignal) {
  const mine = new Set<SessionId>([session, ...(inbox === null ? [] : [inbox]), userSession])
  let wake = (): void => undefined
  const changed = (): void => wake()
  present.onChange.add(changed)
  over.addEventListener('abort', changed, { once: true })
  const unsubscribe = runtime.store.onHint((hints) => {
    if (hints.some((hint) => isNews(hint, mine))) wake()
  })
  return {
    news: () => new Promise<void>((resolve) => (wake = resolve)),
    unsubscribe: (): void => {
      unsubscribe()
      present.onChange.delete(changed)
      over.removeEventListener('abort', changed)
    },
  }
}

const isNews = (hint: Hint, mine: ReadonlySet<SessionId>): boolean =>
  hint.kind === 'appended' &&
  (hint.events === undefined ||
    hint.events.some(
      ({ type, session }) =>
        mine.has(session) &&
        (type === 'notice.raised' ||
          type === 'message.sent' ||
          type === 'message.released' ||
          type === 'session.quieted'),
    ))
