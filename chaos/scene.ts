/** What all parts of a run have in common. */
import type { Limits } from '../src/model/limits.ts'

export const leaseMs = 1000
export const effectsFile = 'effects.jsonl'

/** A turn that a fault left behind, and that nobody waits for, ends soon enough to be looked at. */
export const limits: Partial<Limits> = {
  inactivityMs: 20_000,
  callAgentTimeoutMs: 10_000,
  messagesPerMinute: 1_000_000,
  callsPerMinute: 1_000_000,
}

/** What a node's process says on its own channel. */
export type Said = { kind: 'ready'; url: string }
/** What a tool did outside of the log. */
export type Effect = { key: string; turn: string; node: string }
