/** `tieline send <session> "<text>"`: a message to a session. Nobody waits for what comes of it. */
import { flagText, printJson, type Command, type CommandInput } from '../command.ts'

export const send: Command = {
  name: 'send',
  words: ['<session>', '"<text>"'],
  help: 'Sends a message to a session and comes back at once',
  flags: {
    buffer: { help: 'leave it in the inbox until it is accepted' },
    draft: { help: 'keep it as a draft; "tieline inbox --release" sends it' },
    reply: { value: 'ID', help: 'it answers this message' },
    id: { value: 'ID', help: 'your own id for it; that of a draft changes the draft' },
  },
  more: [
    'The session is named by its id, or by a part that only one has. An idle session begins at once, a busy one takes the message up when it is done.',
    'Where no server runs, one is started here and ends when the session has answered.',
    '',
    'Examples:',
    '  tieline sessions',
    '  tieline send ses_01 "Also look at the tests"',
    '  tieline tail ses_01',
    '  tieline send ses_01 "When you have time" --buffer',
    '  tieline send new "Start on this"',
  ],
  async run(input: CommandInput): Promise<number> {
    const [{ withServer }, { newMessageId }] = await Promise.all([
      import('../reach/reach.ts'),
      import('../show/watch.ts'),
    ])
    const [session = '', message = ''] = input.words
    const messageId = flagText(input.flags['id']) ?? newMessageId()
    const reply = flagText(input.flags['reply'])
    return withServer(input, async ({ client }) => {
      if (
        input.flags['draft'] === true ||
        input.flags['buffer'] === true ||
        reply !== undefined ||
        session === 'new'
      ) {
        const mail = await client.mail.send(
          {
            session,
            message,
            id: messageId,
            draft: input.flags['draft'] === true,
            ...(reply === undefined ? {} : { reply: [reply] }),
          },
          { signal: input.signal },
        )
        if (input.flags['json'] === true) printJson(input.out, mail)
        else
          input.out.write(
            input.flags['quiet'] === true
              ? `${mail.id}\n`
              : `${mail.id} ${mail.status}${mail.session === null ? '' : ` to ${mail.session}`}\n`,
          )
        return 0
      }
      const sent = await client.sessions.send(session, { message, messageId }, { signal: input.signal })
      if (input.flags['json'] === true) printJson(input.out, sent)
      else
        input.out.write(
          input.flags['quiet'] === true
            ? `${sent.messageId}\n`
            : `${sent.messageId} ${sent.status} to ${sent.sessionId}\n`,
        )
      return 0
    })
  },
}
