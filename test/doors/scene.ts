/** A session that acts, one below it, and a foreign one with things to hide. */
import type { SessionId } from '../../src/model/id.ts'
import type { Who } from '../../src/runtime/desk/asker.ts'
import { openDoors, type Actor, type Doors } from '../kits/doors.ts'

export const user: Who = { kind: 'user' }
export const asSession = (session: SessionId): Who => ({ kind: 'session', session })
export const asTurn = ({ turn }: Actor): Who => ({ kind: 'turn', turn })

export type Scene = Doors & {
  /** It acts; `child` is below it. */
  actor: Actor
  child: SessionId
  /** What it may not see, with a letter, a draft and a call of its own, all of them hidden. */
  foreign: SessionId
  letter: string
  draft: string
  call: string
  flow: string
}

export async function openScene(): Promise<Scene> {
  const doors = await openDoors({
    agents: {
      free: { allowSubAgentCalls: true },
      relay: {
        allowSubAgentCalls: true,
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'target', task: 'a hidden part' })
          if (turn.task.startsWith('ses_'))
            await turn.tool('send_agent_message', { sessionId: turn.task, message: 'a hidden letter' })
          await turn.tool('send-message', { message: 'a hidden draft', session: 'new', draft: true })
          return 'relayed'
        },
      },
    },
  })
  const desk = doors.as(user)
  const actor = await doors.begin('free')
  const child = await doors.open('target', actor.session)
  const foreign = await doors.open('relay')
  const sent = await desk.sessions.send(foreign, { message: 'a hidden task', delivery: 'auto' })
  await desk.sessions.wait(foreign)
  await desk.sessions.send(foreign, { message: 'a hidden letter', delivery: 'buffer' })
  const [inbox, drafts, calls] = [
    await desk.mail.inbox(foreign),
    await desk.mail.drafts(foreign),
    await desk.calls.list({ session: foreign }),
  ]
  return {
    ...doors,
    actor,
    child,
    foreign,
    letter: 'messages' in inbox ? (inbox.messages[0]?.id ?? '') : '',
    draft: 'messages' in drafts ? (drafts.messages[0]?.id ?? '') : '',
    call: 'calls' in calls ? (calls.calls[0]?.call ?? '') : '',
    flow: 'flow' in sent ? (sent.flow ?? '') : '',
  }
}
