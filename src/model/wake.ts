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
 * K6: while a session is quiet, nothing is announced to it. Afterwards everything counts as if it had just come.
 * K7: the result of a call that the session made in the background is told like a reply, unless it was read.
 */
import { z } from 'zod'
import { nameClientProgram } from './client-address.ts'
import type { MessageRow } from './facts.ts'
import type { CallId, MessageId, Millis } from './id.ts'
import { isWaiting } from './mail.ts'
import { table } from './table.ts'

export const WakePolicy = z.enum(['wake', 'next', 'hold'])
export type WakePolicy = z.infer<typeof WakePolicy>

/** R11: so many starts of a session are remembered. */
export const wakesKeptMax = 100
export const wakeHourMs = 3_600_000
/** R11: a switch that nobody remembers does not hold mail for ever. */
export const quietMsMax = 30 * 86_400_000

export const WakeSettings = z.strictObject({
  default: WakePolicy.default('next'),
  replies: WakePolicy.default('wake'),
  perHour: z.number().int().min(0).max(wakesKeptMax).default(6),
  /** Whether open sessions of Codex are found and told, through its daemon. */
  codex: z.boolean().default(true),
  /** By the session that writes, its agent, or its client. */
  senders: z.record(z.string().min(1), WakePolicy).default({}),
})
export type WakeSettings = z.infer<typeof WakeSettings>

/** `resting`: the session has just ended its turn and would rest now, or rests. */
export const Moment = z.enum(['started', 'prompted', 'used', 'resting'])
export type Moment = z.infer<typeof Moment>

export type WaitingMail = Pick<MessageRow, 'id' | 'from' | 'inReplyTo' | 'status'> & {
  /** The agent of the session that writes; null for the user. */
  agent: string | null
}

export type WakeFacts = {
  /** Oldest first. */
  waiting: readonly WaitingMail[]
  /** Calls of its own that ended in the background, oldest first. */
  results: readonly CallId[]
  announced: ReadonlySet<MessageId>
  wokenLastHour: number
  isQuiet: boolean
}

export type Announcement = { messages: MessageId[]; results: CallId[]; woken: string | null }

/** K2: the narrowest name wins: the session, its agent, its client. */
export function choosePolicy(
  { senders, replies, default: usual }: WakeSettings,
  { from, agent, inReplyTo }: Pick<WaitingMail, 'from' | 'agent' | 'inReplyTo'>,
): WakePolicy {
  const known = inReplyTo === null ? usual : replies
  if (from === null) return known
  const program = nameClientProgram({ id: from, title: '' })
  const byClient = Object.keys(senders).find((name) => program === name || program.startsWith(`${name}-`))
  const named = table(senders)
  return named[from] ?? named[agent ?? ''] ?? named[byClient ?? ''] ?? known
}

/** What is announced at this moment; null where nothing is. */
export function planAnnouncement(
  { waiting, results, announced, wokenLastHour, isQuiet }: WakeFacts,
  settings: WakeSettings,
  moment: Moment,
): Announcement | null {
  if (isQuiet) return null // K6
  const fresh = waiting.filter(
    (message) =>
      isWaiting(message) && !announced.has(message.id) && choosePolicy(settings, message) !== 'hold',
  )
  const ended = settings.replies === 'hold' ? [] : results.filter((call) => !announced.has(call))
  if (fresh.length === 0 && ended.length === 0) return null
  const plan = { messages: fresh.map(({ id }) => id), results: ended, woken: null }
  if (moment !== 'resting') return plan
  const reason = fresh.find((message) => choosePolicy(settings, message) === 'wake')
  const [result] = settings.replies === 'wake' ? ended : []
  if ((reason === undefined && result === undefined) || wokenLastHour >= settings.perHour) return null
  return { ...plan, woken: reason === undefined ? `result of ${String(result)}` : wordReason(reason) }
}

const wordReason = ({ id, inReplyTo }: WaitingMail): string =>
  inReplyTo === null ? `mail ${id}` : `reply ${id} to ${inReplyTo}`

export const wakeStart = (now: Millis): Millis => now - wakeHourMs
