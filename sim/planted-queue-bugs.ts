/** Planted bugs of queues: what could run does not, or in another order. */
import type { Bug } from './bug.ts'

export const queueBugs: readonly (() => Bug)[] = [
  () => ({
    name: 'forgets-queue',
    law: 'R12',
    says: 'the end of a turn does not look at what waits behind it',
    session: (facts) => (facts.running === null ? facts : { ...facts, next: null }),
  }),
  () => ({
    name: 'edge-only',
    law: 'R12',
    says: 'the sweep does not find sessions that rest, or whose node is gone',
    due: (due) => ({ ...due, sessions: [] }),
  }),
]
