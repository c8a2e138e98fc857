/** Whether the server lives, and whether it can record anything. */
import type { Desks } from '../runtime/desk/desk.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import type { StoreHealth } from '../runtime/kernel/store-health.ts'
import type { Health } from '../wire/server.ts'

export type HealthDeps = {
  desks: Pick<Desks, 'health'>
  clock: Pick<Clock, 'elapsed'>
  version: string
  startedAt: number
}

export const uptimeSeconds = ({ clock, startedAt }: Pick<HealthDeps, 'clock' | 'startedAt'>): number =>
  Math.max(0, Math.floor((clock.elapsed() - startedAt) / 1000))

export function readHealth(deps: HealthDeps): { status: 200 | 503; body: Health } {
  const health = deps.desks.health()
  const store = showStore(health)
  const body = { status: health.state, version: deps.version, uptimeSeconds: uptimeSeconds(deps), store }
  return { status: health.state === 'ok' ? 200 : 503, body }
}

/** Everybody may ask for it, so it does not name the directory. */
function showStore(health: StoreHealth): Health['store'] {
  if (health.state === 'ok') {
    const { checking } = health
    const fine = { status: 'ok' as const, reason: null, cure: null, freeBytes: null, since: null }
    return checking === undefined ? fine : { ...fine, checking }
  }
  const { reason, cure, freeBytes } = health.refusal
  return { status: 'unavailable', reason, cure, freeBytes, since: health.since }
}
