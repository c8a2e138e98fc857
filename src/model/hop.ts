/** What calls and messages have in common: each is a hop to another agent, within the same bounds (R7, R11). */
import type { TurnRow } from './facts.ts'
import type { Millis } from './id.ts'
import type { Limits } from './limits.ts'
import type { Refusal } from './refusal.ts'

/** R3, R6: a turn calls out only while it runs. */
export function checkRunning({ state, stopping }: TurnRow): Refusal | null {
  if (state !== 'running') return { code: 'call_ended', why: 'your turn has ended' }
  return stopping === null ? null : { code: 'call_ended', why: 'your turn was cancelled' }
}

export const deadlinePassed = 'your deadline has passed'

export const checkNested = ({ grant }: TurnRow, tool: string): Refusal | null =>
  grant.authority.nested
    ? null
    : { code: 'tool_disabled', tool, why: 'this call was made with allow_nested_calls: false' }

export const checkDepth = (depth: number, depthMax: number, limit: string): Refusal | null =>
  depth > depthMax ? { code: 'call_too_deep', depth, depthMax, limit } : null

export const checkDescendants = (created: number, limits: Limits): Refusal | null =>
  created >= limits.descendantsPerFlowMax
    ? { code: 'too_many_descendants', created, createdMax: limits.descendantsPerFlowMax }
    : null

export const checkQueue = (session: string, queued: number, queuedMax: number): Refusal | null =>
  queued >= queuedMax ? { code: 'queue_full', session, queued, queuedMax } : null

/** `oldestAt` is when the oldest of the last minute was made. */
export function checkRate(
  what: 'calls' | 'messages',
  { count, perMinute }: { count: number; perMinute: number },
  oldestAt: Millis | null,
  now: Millis,
): Refusal | null {
  if (count < perMinute) return null
  const retryInMs = Math.min(60_000, Math.max(1, (oldestAt ?? now) + 60_000 - now))
  return { code: 'rate_limited', what, perMinute, retryInMs }
}
