/**
 * When an open session of a client is told of its mail, and when that may start it.
 *
 * K1: a message is announced to a session once. Whatever happens to the announcement, the message stays in the
 * inbox, where it is found by looking.
 * K2: the policy of a message is that of its sender where there is one, else that of replies, else the default.
 * `hold` announces nothing; `next` with the next prompt or tool result; `wake` also starts a session that rests.
 * K3: a session is started at most `perHour` times in an hour. What may not start it waits for the next prompt.
 * K4: one start announces everything that waits, so that two messages at once start it once.
 * K5: a reply carries its text. Anything else is announced without it: its text comes by accept.
 */
import { z } from 'zod'
import type { MessageRow } from './facts.ts'
import type { MessageId, Millis } from './id.ts'
import { isWaiting } from './mail.ts'

export const WakePolicy = z.enum(['wake', 'next', 'hold'])
export type WakePolicy = z.infer<typeof WakePolicy>

/** R11: so many starts of a session are remembered. */
export const wakesKeptMax = 100
export const wakeHourMs = 3_600_000

export const WakeSettings = z.strictObject({
  default: WakePolicy.default('next'),
  replies: WakePolicy.default('wake'),
  perHour: z.number().int().min(0).max(wakesKeptMax).default(6),
  /** By the id of the session that writes. */
  senders: z.record(z.string().min(1), WakePolicy).default({}),
})
export type WakeSettings = z.infer<typeof WakeSettings>

/** `resting`: the session has just ended its turn and would rest now. */
export const Moment = z.enum(['started', 'prompted', 'used', 'resting'])
export type Moment = z.infer<typeof Moment>

export type WakeFacts = {
  /** Oldest first. */
  waiting: readonly Pick<MessageRow, 'id' | 'from' | 'inReplyTo' | 'status'>[]
  announced: ReadonlySet<MessageId>
  wokenLastHour: number
}

export type Announcement = { messages: MessageId[]; woken: string | null }

/** K2 */
export const choosePolicy = (
  { senders, replies, default: usual }: WakeSettings,
  { from, inReplyTo }: Pick<MessageRow, 'from' | 'inReplyTo'>,
): WakePolicy => (from === null ? undefined : senders[from]) ?? (inReplyTo === null ? usual : replies)

/** What is announced at this moment; null where nothing is. */
export function planAnnouncement(
  { waiting, announced, wokenLastHour }: WakeFacts,
  settings: WakeSettings,
  moment: Moment,
): Announcement | null {
  const fresh = waiting.filter(
    (message) =>
      isWaiting(message) && !announced.has(message.id) && choosePolicy(settings, message) !== 'hold',
  )
  if (fresh.length === 0) return null
  const messages = fresh.map(({ id }) => id)
  if (moment !== 'resting') return { messages, woken: null }
  const reason = fresh.find((message) => choosePolicy(settings, message) === 'wake')
  if (reason === undefined || wokenLastHour >= settings.perHour) return null
  return {
    messages,
    woken: reason.inReplyTo === null ? `mail ${reason.id}` : `reply ${reason.id} to ${reason.inReplyTo}`,
  }
}

export const wakeStart = (now: Millis): Millis => now - wakeHourMs
