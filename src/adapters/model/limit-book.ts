/** Limits that providers said they have reached, until they are reset. One for all agents of a provider. */
import type { ReportedLimit } from '../../runtime/kernel/driven-port.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import type { Broken } from './describe-broken.ts'

const overLimit = 429
/** Where it does not say when it is reset. */
const believedMs = 60_000

export type LimitBook = {
  note(provider: string, broken: Broken): void
  /** It has answered. */
  forget(provider: string): void
  find(provider: string): ReportedLimit | null
}

export function limitBook(clock: Pick<Clock, 'now' | 'elapsed'>): LimitBook {
  const known = new Map<string, { why: string; until: number }>()
  return {
    note(provider, { status, detail, retryAfterMs }) {
      if (status !== overLimit) return
      known.set(provider, { why: detail, until: clock.elapsed() + (retryAfterMs ?? believedMs) })
    },
    forget: (provider) => void known.delete(provider),
    find(provider) {
      const limit = known.get(provider)
      const leftMs = limit === undefined ? 0 : limit.until - clock.elapsed()
      if (limit === undefined || leftMs <= 0) return null
      return { why: limit.why, resetsAt: Math.ceil(clock.now() + leftMs) }
    },
  }
}
