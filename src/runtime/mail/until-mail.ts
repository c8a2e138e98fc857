/** Waiting for mail: nobody is waited for, so it is no edge in the graph of waits. */
import type { SessionId } from '../../model/id.ts'
import type { Runtime } from '../turns/runtime.ts'
import type { Hint } from '../kernel/store-port.ts'
import { nap } from '../look/state.ts'

const lookAgainMs = 500

/** Looks when something was appended, and now and then. Rejects when this node stops. */
export async function untilMail(
  runtime: Runtime,
  inboxes: readonly (SessionId | null)[],
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const mine = new Set(inboxes.filter((id) => id !== null))
  const end = runtime.clock.elapsed() + ms
  let wake = (): void => undefined
  let isTold = false
  const unsubscribe = runtime.store.onHint((hints) => {
    if (!hints.some((hint) => isNews(hint, mine))) return
    isTold = true
    wake()
  })
  try {
    for (;;) {
      const news = new Promise<void>((resolve) => (wake = resolve))
      const counts = await Promise.all([...mine].map((id) => runtime.lists.mail.counts(id)))
      const left = end - runtime.clock.elapsed()
      if (isTold || counts.some(({ waiting }) => waiting > 0) || left <= 0 || signal.aborted) return
      await Promise.race([news, nap(runtime, Math.min(left, lookAgainMs), signal)])
      runtime.stopping.signal.throwIfAborted()
    }
  } finally {
    unsubscribe()
  }
}

const isNews = (hint: Hint, mine: ReadonlySet<SessionId>): boolean =>
  hint.kind === 'appended' &&
  hint.events?.some(
    (event) =>
      mine.has(event.session) &&
      (event.type === 'notice.raised' || (event.type === 'message.sent' && event.turn === null)),
  ) === true
