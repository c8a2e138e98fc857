/** What the parent of a `cluster-node.ts` asks for, and what it hears. */
import type { Round } from './round.ts'

export type Order = { what: 'instant' | 'slow'; concurrency: number; seconds: number } | 'end'
/** `reruns` are transactions that were decided again because they lacked keys. */
export type NodeRound = Round & { reruns: number }

/** As long as a fast model takes. */
export const slowMs = 1000
