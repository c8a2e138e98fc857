/**
 * Nodes of two versions on one log. Versions of one format may differ as they like. One with a newer format writes
 * what an older one cannot fold: so it does not start while an older one lives, which could do nothing from then
 * on; and one that only seemed to be gone has to notice before it decides on what it does not understand.
 */
import type { Millis } from '../../model/id.ts'

/** A node that has beaten: which format it knows, and how long it counts as alive. */
export type Beaten = { id: string; format: number; until: Millis }

/** What keeps a node from starting. */
export type Bar = { why: 'log newer' } | { why: 'nodes older'; nodes: string[] }

/** Null where a node that knows `own` may start on a log of the format `found`, which is then its own. */
export function findBar(own: number, found: number, nodes: readonly Beaten[], now: Millis): Bar | null {
  if (!knowsLog(own, found)) return { why: 'log newer' }
  const older = nodes.filter(({ format, until }) => format < own && until > now).map(({ id }) => id)
  return found === own || older.length === 0 ? null : { why: 'nodes older', nodes: older }
}

/** Asked with every transaction and every beat: whether it may decide on this log, and count as alive. */
export const knowsLog = (own: number, found: number): boolean => found <= own
