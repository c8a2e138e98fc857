/** What a driven agent is asked. It has a prompt of its own, so ours comes with the task. */
import { historyMessages } from '../../runtime/turns/loop.ts'
import type { TurnInput } from '../../runtime/kernel/ports.ts'

const place = ({ session, agent }: TurnInput): string =>
  `[You are ${agent.name}, session ${session.id} of Tieline, in ${session.cwd}. ` +
  'Other agents can be reached with the tools of the MCP server "tieline". ' +
  'Your last message is your answer.]'

/** `knows`: it has the conversation so far, and our prompt. */
export function renderFirst(turn: TurnInput, knows: boolean): string {
  if (knows) return turn.prompt
  const past = historyMessages(turn.history)
    .flatMap((message) => (message.role === 'tool' ? [] : [`${message.role}: ${message.text}`]))
    .join('\n\n')
  return [
    place(turn),
    turn.system,
    past === '' ? '' : `[The conversation so far]\n${past}\n[Its end]`,
    turn.prompt,
  ]
    .filter((part) => part.trim() !== '')
    .join('\n\n')
}

export const renderInterrupted = (turn: TurnInput): string =>
  '[You were interrupted in the middle of this task. What you had done may be half done: look before you do it ' +
  `again, then finish. The task was:]\n\n${turn.prompt}`
