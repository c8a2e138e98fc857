/** `tieline chat`: a conversation with an agent. */
import { chatHelp } from '../chat/chat-commands.ts'
import type { Command } from '../command.ts'
import { conversationFlags } from '../flags.ts'

export const chat: Command = {
  name: 'chat',
  words: [],
  help: 'Talks with an agent; shows whom it calls, and asks you where it must ask',
  flags: conversationFlags,
  more: [
    'Each line is a message. Commands begin with a slash:',
    '',
    ...chatHelp(),
    '',
    'While the agent works, commands are done at once, and a message waits until it is done.',
    'Without a terminal every line of the input is a message that waits for the answer to the one before it (only a /cancel that comes meanwhile is done at once), and the conversation ends with the input; --json prints an object for each answer.',
    '',
    'Examples:',
    '  tieline chat',
    '  tieline chat --agent planner --cwd ~/project',
    '  printf "What is in SPEC.md?\\n" | tieline chat --quiet',
  ],
  run: async (input) => (await import('../chat/chat-talk.ts')).runChat(input),
}
