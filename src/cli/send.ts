/** `tieline send <session> "<text>"`: a message to a session. Nobody waits for what comes of it. */
import { printJson, type Command, type CommandInput } from './command.ts'

export const send: Command = {
  name: 'send',
  words: ['<session>', '"<text>"'],
  help: 'Sends a message to a session and comes back at once',
  flags: {},
  more: [
    'The session is named by its id, or by a part that only one has. An idle session begins at once, a busy one takes the message up when it is done.',
    'Where no server runs, one is started here and ends when the session has answered.', '',
    'Examples:', '  tieline sessions', '  tieline send ses_01 "Also look at the tests"', '  tieline tail ses_01',
  ],
  async run(input: CommandInput): Promise<number> {
    const [{ withServer }, { newMessageId }] = await Promise.all([import('./reach.ts'), import('./watch.ts')])
    const [session = '', message = ''] = input.words
    const messageId = newMessageId()
    return withServer(input, async ({ client }) => {
      const sent = await client.sessions.send(session, { message, messageId }, { signal: input.signal })
      if (input.flags['json'] === true) printJson(input.out, sent)
      else input.out.write(input.flags['quiet'] === true ? `${sent.messageId}\n` : `${sent.messageId} ${sent.status} to ${sent.sessionId}\n`)
      return 0
    })
  },
}
