/** `tieline chat`: a conversation with an agent. */
import { chatHelp } from './chat-commands.ts'
import type { Command } from './command.ts'
import { conversationFlags } from './flags.ts'

export const chat: Command = {
  name: 'chat',
  words: [],
  help: 'Talks with an agent; shows whom it calls, and asks you where it must ask',
  flags: conversationFlags,
  more: [
    'Each line is a message. Commands begin with a slash:', '', ...chatHelp(), '',
    'Ctrl-C cancels what the agent does, twice leaves. Without a terminal every line of the input is a message, and the conversation ends with the input; --json prints an object for each answer.', '',
    'Examples:', '  tieline chat', '  tieline chat --agent planner --cwd ~/project', '  printf "What is in SPEC.md?\\n" | tieline chat --quiet',
  ],
  run: async (input) => (await import('./chat-talk.ts')).runChat(input),
}
