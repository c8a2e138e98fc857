/** `tieline send <session> "<text>"`: a message to a session, without waiting for what comes of it. */
import { flagText, printResult, type Command, type CommandInput } from '../command.ts'
import { withServer } from '../reach/reach.ts'
import { newMessageId } from '../show/watch.ts'

export const send: Command = {
  name: 'send',
  words: ['<session>', '"<text>"'],
  help: 'Sends a message to a session and returns at once',
  flags: {
    buffer: { help: 'leave it in the inbox until it is accepted' },
    draft: { help: 'keep it as a draft; "tieline inbox --release" sends it' },
    reply: { value: 'ID', help: 'the message that this one answers' },
    id: { value: 'ID', help: 'your own id for it; the id of a draft changes that draft' },
  },
  more: `
Name the session by its id, or by a part that only one has. An idle session begins at once; a busy one takes
up the message when it is done.
Where no server runs, one is started here and ends when the session has answered.`,
  examples: [
    'tieline sessions',
    'tieline send ses_01 "Also look at the tests"',
    'tieline tail ses_01',
    'tieline send ses_01 "When you have time" --buffer',
    'tieline send new "Start on this"',
  ],
  async run(input: CommandInput): Promise<number> {
    const { flags, signal } = input
    const [session = '', message = ''] = input.words
    const id = flagText(flags['id']) ?? newMessageId()
    const reply = flagText(flags['reply'])
    const draft = flags['draft'] === true
    const isMail = draft || flags['buffer'] === true || reply !== undefined || session === 'new'
    return withServer(input, async ({ client }) => {
      if (isMail) {
        const mail = { session, message, id, draft, ...(reply === undefined ? {} : { reply: [reply] }) }
        const sent = await client.mail.send(mail, { signal })
        printResult(input, sent, describeSent(sent), sent.id)
      } else {
        const sent = await client.sessions.send(session, { message, messageId: id }, { signal })
        const { messageId, status, sessionId } = sent
        printResult(input, sent, describeSent({ id: messageId, status, session: sessionId }), messageId)
      }
      return 0
    })
  },
}

type Sent = { id: string; status: string; session: string | null }

export const describeSent = ({ id, status, session }: Sent): string =>
  `${id} ${status}${session === null ? '' : ` to ${session}`}`
