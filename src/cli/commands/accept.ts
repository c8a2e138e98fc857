/** `tieline accept <session> [which]`: takes one message for a session, which then works on it. */
import { surroundings } from '../../client/surroundings.ts'
import { isSilent, printResult, type Command, type CommandInput } from '../command.ts'
import { withServer } from '../reach/reach.ts'
import { renderAccepted } from '../show/mail-lines.ts'
import { expandSession, openMailView } from './inbox.ts'

export const accept: Command = {
  name: 'accept',
  words: ['<session>', '[which]'],
  help: 'Accepts a message that waits for a session, which then works on it',
  flags: {},
  more: `
Which one: "oldest" (the default), "newest", its id, or its number in "tieline inbox". If two accept the
same message, one gets it, and the other is told who did. If nothing waits, the exit code is 1.
Mail for a client such as Claude Code is released to it: the client takes it when it looks into its inbox.`,
  examples: ['tieline inbox', 'tieline accept ses_01', 'tieline accept ses_01 3', 'tieline accept me newest'],
  async run(input: CommandInput): Promise<number> {
    const [session = '', which = 'oldest'] = input.words
    // One key for all tries, so that a retry does not take a second message.
    const once = { signal: input.signal, key: surroundings.draw() }
    return withServer(input, async ({ client }) => {
      const { message } = await client.mail.accept(expandSession(session), which, once)
      if (message === null && input.flags['json'] !== true) input.err.write('No messages wait.\n')
      const lines =
        message === null || isSilent(input) ? [] : renderAccepted(message, await openMailView(input, client))
      printResult(input, message, lines.join('\n'), message?.id ?? '')
      return message === null ? 1 : 0
    })
  },
}
