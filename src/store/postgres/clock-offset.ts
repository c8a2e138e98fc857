import type { Millis } from '../../model/id.ts'

/** When a question was sent and its answer came, on this machine's clock, and what the database's showed between. */
export type Reading = { at: Millis; sent: Millis; received: Millis }

/**
 * How far the database's clock is ahead of this machine's. One reading only says between which bounds that is, as
 * wide as the answer took. What is known stays while it is within: an answer that came late, since a lock was not
 * free or the process was stopped, says little, and must not make a node late.
 */
export const adjustOffset = (known: Millis, { at, sent, received }: Reading): Millis =>
  Math.min(Math.max(known, at - received), at - Math.min(sent, received))
