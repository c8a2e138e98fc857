/**
 * `tieline accept <session> [which]`: takes one message for a session; one that is run works on it at once.
 */
import { printJson, type Command, type CommandInput } from '../command.ts'
import { findSession, showInbox } from './inbox.ts'

export const accept: Command = {
  name: 'accept',
  words: ['<session>', '[which]'],
  help: 'Accepts a message that waits for a session, which then works on it',
  flags: {},
  more: [
    'Which one: "oldest" (if left out), "newest", its id, or its number in "tieline inbox". Two that accept the same message: one has it, and the other is told who.',
    'Where nothing waits, nothing is done, and the exit code is 1.',
    '',
    'Examples:',
    '  tieline inbox',
    '  tieline accept ses_01',
    '  tieline accept ses_01 3',
    '  tieline accept me newest',
  ],
  async run(input: CommandInput): Promise<number> {
    const [{ withServer }, { surroundings }] = await Promise.all([
      import('../reach/reach.ts'),
      import('../../client/surroundings.ts'),
    ])
    const [session = '', which = 'oldest'] = input.words
    // One key for all tries: a second one must not take a second message.
    const key = surroundings.draw()
    return withServer(input, async ({ client }) => {
      const { message } = await client.mail.accept(findSession(session), which, { signal: input.signal, key })
      if (input.flags['json'] === true) printJson(input.out, message)
      else if (message === null) input.err.write('No messages wait.\n')
      else if (input.flags['quiet'] === true) input.out.write(`${message.id}\n`)
      else {
        const { acceptedLines } = await import('../show/mail-lines.ts')
        input.out.write(`${acceptedLines(message, await showInbox(input, client)).join('\n')}\n`)
      }
      return message === null ? 1 : 0
    })
  },
}
