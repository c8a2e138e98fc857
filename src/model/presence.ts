/**
 * Whether a program that the user has open is there. What it said last is known only to the server that heard it,
 * so after a restart a session is away until its program is heard of again.
 *
 * P1: a session is closed when its program said so, and open again when it is heard of again.
 * P2: one whose waiter has gone is away soon: its program ended without a word. One that never had a waiter is
 * away when nothing was heard of it for an hour.
 * P3: only a session with somebody who waits for its mail can be woken.
 */
import { z } from 'zod'
import type { Millis } from './id.ts'

export const ClientState = z.enum(['working', 'idle', 'away', 'closed'])
export type ClientState = z.infer<typeof ClientState>

/** What the log knows: until when a session is quiet is 0 where it is not. */
export type ClientFacts = { program: string; open: boolean; quietUntil: Millis }
export const noClient: ClientFacts = { program: '', open: false, quietUntil: 0 }

/** What this process heard of a session; times are elapsed ones. */
export type Sign = {
  state: 'working' | 'idle'
  heardAt: Millis
  isAwaited: boolean
  /** When the last that waited for its mail went away without a cause that is known. */
  leftAt: Millis | null
}

/** A waiter comes back within this: it asks again and again. */
const backMsMax = 10_000
const silentMsMax = 3_600_000

export function judgePresence(
  open: boolean,
  sign: Sign | null,
  now: Millis,
): { state: ClientState; wakeable: boolean } {
  if (!open) return { state: 'closed', wakeable: false }
  if (sign === null) return { state: 'away', wakeable: false }
  const { state, heardAt, isAwaited, leftAt } = sign
  if (isAwaited) return { state, wakeable: true }
  const isGone = state === 'idle' && leftAt !== null && now - leftAt > backMsMax
  return { state: isGone || now - heardAt > silentMsMax ? 'away' : state, wakeable: false }
}

/** Words for a person: `2h`, `90m`, `1d`. Null where it is none. */
export function parseSpan(text: string): Millis | null {
  const found = /^(\d{1,6})\s?(s|m|h|d)$/.exec(text.trim())
  return found === null ? null : Number(found[1]) * unitMs[found[2] as keyof typeof unitMs]
}
const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
