/**
 * The log has times of the clock on the wall, and limits count elapsed time. The laws are about limits, so the
 * checker turns what it reads into elapsed time.
 */
import type { Event } from '../src/model/event.ts'
import type { Plan } from './plan.ts'

export function shiftTimes(event: Event, byMs: number): Event {
  if (event.type === 'turn.started' || event.type === 'call.opened' || event.type === 'question.asked')
    return { ...event, deadline: event.deadline - byMs }
  if ((event.type === 'message.sent' || event.type === 'message.delivered') && event.deadline !== null)
    return { ...event, deadline: event.deadline - byMs }
  return event
}

export type Jumps = {
  /** How far the clock on the wall is set, in all. */
  jumpsMs: number
  /** Only limits that another process goes on with are kept by that clock, and may be off by as much. */
  limitsOffMs: number
}

/** Faults after which the same process goes on. */
const harmless: ReadonlySet<string> = new Set(['clock', 'slow', 'delay', 'hints'])

/** A node whose clock is not the store's knows the time no better than an answer takes. */
const learnedMs = 1000

export function measureJumps({ nodes, faults, ownClocks }: Plan): Jumps {
  const setMs = faults.reduce((sum, one) => sum + (one.kind === 'clock' ? Math.abs(one.byMs) : 0), 0)
  const jumpsMs = setMs + (ownClocks ? learnedMs : 0)
  const isAlone = nodes === 1 && faults.every(({ kind }) => harmless.has(kind))
  return { jumpsMs, limitsOffMs: isAlone ? 0 : jumpsMs }
}
