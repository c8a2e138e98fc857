/** `tieline chat`: a conversation with an agent. */
import { renderChatHelp } from '../chat/chat-commands.ts'
import type { Command } from '../command.ts'
import { conversationFlags } from '../flags.ts'

export const chat: Command = {
  name: 'chat',
  words: [],
  help: 'Talks with an agent, shows its calls, and asks you where it needs permission',
  flags: conversationFlags,
  more: `
Each line is a message. Commands begin with a slash:

${renderChatHelp().join('\n')}

While the agent works, commands run at once, and messages wait until it is done.
Without a terminal, each line of the input is a message that waits for the answer to the one before it; only
/cancel runs at once. The conversation ends with the input. --json prints an object for each answer.`,
  examples: [
    'tieline chat',
    'tieline chat --agent planner --cwd ~/project',
    'printf "What is in SPEC.md?\\n" | tieline chat --quiet',
  ],
  run: async (input) => (await import('../chat/chat-talk.ts')).runChat(input),
}
