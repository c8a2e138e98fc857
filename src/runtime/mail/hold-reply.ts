/**
 * Replies to a session that a connected program runs, and that a person has open in it (OpenCode). Such a reply
 * starts a turn by itself, so it is a wake: the policy, the limit of an hour and a quiet time decide, and what they
 * hold back waits in the inbox. A program that nobody has open gets its replies at once.
 */
import type { EventOf } from '../../model/event.ts'
import { userSession } from '../../model/mail.ts'
import { choosePolicy, wakeStart, WakeSettings } from '../../model/wake.ts'
import type { Tx } from '../kernel/store-port.ts'
import type { Runtime } from '../turns/runtime.ts'
import type { Sending } from './send-facts.ts'

const usual = WakeSettings.parse({})

export type ReplyRuling = { held: boolean; woken: EventOf<'session.woken'>[] }
const free: ReplyRuling = { held: false, woken: [] }

/** Whether all sessions are quiet, before the transaction: it may be a moment old, as everything that is read. */
export const readAllQuiet = async ({ lists, clock }: Runtime, { request }: Sending): Promise<boolean> =>
  request.inReplyTo != null && (await lists.client(userSession)).quietUntil > clock.now()

export async function ruleOnReply(
  tx: Tx,
  runtime: Runtime,
  { request, sender, session, owner, suffix }: Sending,
  isAllQuiet: boolean,
): Promise<ReplyRuling> {
  const { inReplyTo } = request
  if (inReplyTo == null || request.inbox !== 'auto') return free
  const { program, open, quietUntil } = await tx.client(session)
  if (program === '' || !open) return free
  const settings = runtime.wake ?? usual
  const agent = sender.kind === 'turn' ? sender.running.agent.name : null
  const policy = choosePolicy(settings, { from: owner === userSession ? null : owner, agent, inReplyTo })
  const isLate = (await tx.woken(session, wakeStart(tx.now))) >= settings.perHour
  if (policy !== 'wake' || isAllQuiet || quietUntil > tx.now || isLate) return { held: true, woken: [] }
  const id = request.id ?? `msg_${suffix}`
  const reason = `reply ${id} to ${inReplyTo}`
  return { held: false, woken: [{ type: 'session.woken', session, turn: null, messages: [id], reason }] }
}
