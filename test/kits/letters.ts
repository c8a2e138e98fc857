/** Sessions that are written to as the user does it, and waited for. */
import { tmpdir } from 'node:os'
import type { SessionId } from '../../src/model/id.ts'
import { type World } from './world.ts'
import { isRefusal } from '../../src/model/refusal.ts'
import type { SendAsk } from './askers.ts'
import type { Who } from '../../src/runtime/desk/asker.ts'

const never = new AbortController().signal

export const user: Who = { kind: 'user' }

export const place = { cwd: tmpdir(), model: null, title: '', parent: null, id: null, trace: null }

export const letter = (to: SessionId, text: string, more: Partial<SendAsk> = {}): SendAsk => ({
  to,
  text,
  source: 'user',
  from: null,
  applet: null,
  delivery: 'auto',
  inReplyTo: null,
  id: null,
  trace: null,
  ...more,
})

export async function session(
  w: World,
  agent: string,
  initialMessage: string | null = null,
): Promise<SessionId> {
  const made = await w.exchange.createSession(user, { ...place, agent, initialMessage })
  if (isRefusal(made)) throw new Error(made.code)
  return made.sessionId
}

export const resting = async (w: World, id: SessionId) =>
  w.until(w.exchange.waitForSession(user, id, 3_600_000, never))
