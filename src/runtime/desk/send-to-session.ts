/** A message to a session, as anybody may send one. */
import type { z } from 'zod'
import type { MessageSource } from '../../model/event.ts'
import type { SessionId } from '../../model/id.ts'
import { looksDrawn } from '../../model/mail.ts'
import { badInput, isRefusal, type Refusal } from '../../model/refusal.ts'
import type { NewMessage, SentMessage } from '../../wire/sessions.ts'
import { mustDraft, type Sender } from '../mail/sender.ts'
import { draftTo } from '../sessions/session-acts.ts'
import { findReceiver } from '../mail/address-inbox.ts'
import { post } from '../mail/send.ts'
import { type Asker } from './asker.ts'
import { type Gate } from './gate.ts'
import type { DeskParts } from './parts.ts'

/** Any session may be written to by those who may call it: that is for the rules to decide. */
export async function sendTo(
  { runtime }: DeskParts,
  asker: Asker,
  gate: Gate,
  id: string,
  message: z.output<typeof NewMessage>,
): Promise<SentMessage | Refusal> {
  if (message.fromSession !== undefined) {
    const [own, target] = [await gate.findAny(message.fromSession), await gate.findAny(id)]
    // Wrong whoever asks, so it is said before anybody is asked who they are.
    if (!isRefusal(own) && !isRefusal(target) && own.id === target.id)
      return { code: 'self_call', agent: target.agent }
  }
  const from = await gate.speaker('fromSession', message.fromSession ?? null)
  if (from !== null && typeof from === 'object') return from
  const source = checkSource(asker, message, from)
  if (typeof source === 'object') return source
  const target = await findReceiver(runtime, id)
  if (isRefusal(target)) return target
  if (target.id === from) return { code: 'self_call', agent: target.agent }
  const own = message.messageId ?? null
  if (own !== null && looksDrawn(own) && (await runtime.lists.mail.message(own)) === null)
    return badInput('messageId', own, 'an id of your own: this one looks like one of ours')
  const speaker = from === null ? gate : gate.as({ kind: 'session', session: from })
  const admitted =
    source === 'agent'
      ? await speaker.admit('send_agent_message', { sessionId: target.id, message: message.message })
      : { sessionId: target.id, message: message.message }
  if (isRefusal(admitted)) return admitted
  const sender = source === 'agent' ? await speaker.sender() : personOf(source, message)
  if (isRefusal(sender)) return sender
  if (mustDraft(runtime, sender, target.id)) {
    const kept = await draftTo(runtime, sender, target.id, admitted.message, own ?? asker.act)
    return isRefusal(kept) ? kept : { ...kept, turn: null, flow: null }
  }
  const sent = await post(runtime, {
    to: { session: target.id },
    text: admitted.message,
    sender,
    now: message.delivery === 'now',
    inbox: message.delivery === 'buffer' ? 'always' : 'auto',
    inReplyTo: message.inReplyTo ?? null,
    id: own ?? asker.act,
    trace: asker.trace,
  })
  return isRefusal(sent)
    ? sent
    : {
        messageId: sent.message,
        status: sent.status,
        sessionId: sent.session,
        turn: sent.turn,
        flow: sent.flow,
      }
}

const personOf = (source: MessageSource, { applet }: z.output<typeof NewMessage>): Sender =>
  source === 'applet' ? { kind: 'applet', name: applet ?? '' } : { kind: 'user' }

function checkSource(
  { who }: Asker,
  { applet, ...message }: z.output<typeof NewMessage>,
  from: SessionId | null,
): MessageSource | Refusal {
  const source = message.source ?? (from === null ? 'user' : 'agent')
  if (who.kind === 'session' && source !== 'agent')
    return {
      code: 'not_allowed',
      agent: `Session ${who.session}`,
      what: `send as source "${source}"`,
      allowed: ['agent'],
    }
  if (source === 'agent' && from === null)
    return badInput('fromSession', undefined, 'the id of the session that sends, because source is "agent",')
  if (source !== 'agent' && from !== null)
    return badInput('source', source, '"agent", because fromSession is given,')
  if (source === 'applet' && applet === undefined)
    return badInput('applet', undefined, 'the name of the applet, because source is "applet",')
  if (source !== 'applet' && applet !== undefined)
    return badInput('applet', applet, 'nothing, unless source is "applet",')
  return source
}
