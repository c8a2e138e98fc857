/** `tieline sessions`: the sessions of a log, newest first. */
import { limitFlag, limitOf } from './calls.ts'
import type { Command, CommandInput } from './command.ts'
import { logFlags, printJson, withLog } from './recorded-log.ts'
import { oneLine } from './width.ts'

export const sessions: Command = {
  name: 'sessions', words: [], help: 'Lists sessions, newest first: whose they are, and what they are called', flags: { limit: limitFlag, ...logFlags },
  more: ['An ephemeral session was made by a call, and belongs to it. Go on with an id: "tieline replay" or "tieline explain".'],
  async run(input: CommandInput): Promise<number> {
    const found = await withLog(input, (log) => log.sessions(limitOf(input)))
    if (input.flags['json'] === true) printJson(input.out, found)
    else if (found.length === 0) input.out.write('There are no sessions in this log.\n')
    else for (const session of found) {
      input.out.write(`${session.id}  ${oneLine(session.agent)}  ${session.kind}${session.archived ? ', archived' : ''}  ${session.entries} entries  ${oneLine(session.title === '' ? session.cwd : session.title)}\n`)
    }
    return 0
  },
}
