import type { Session } from '../../wire/sessions.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { agoWords } from '../show/amounts.ts'
import { printJson, type Command, type CommandInput } from '../command.ts'
import { limitFlag, readLimit } from '../flags.ts'
import { oneLine } from '../show/width.ts'

export const sessions: Command = {
  name: 'sessions',
  words: [],
  help: 'Lists sessions, newest first: whose they are, what they do, and what they are called',
  flags: { limit: limitFlag },
  more: [
    'A server that runs leaves out the sessions that calls made for themselves; in a log at rest these stand too, as ephemeral ones.',
    '',
    'Examples:',
    '  tieline sessions',
    '  tieline chat --session ses_01     go on with one',
    '  tieline send ses_01 "And now?"   or write to it',
  ],
  async run(input: CommandInput): Promise<number> {
    const limit = readLimit(input)
    const { look } = await import('../reach/recorded-log.ts')
    const lines = await look<{ session: object; line: string }[]>(input, {
      server: async (client) =>
        (await client.sessions.list({ limit }, input)).sessions.map((session) => ({
          session,
          line: sessionLine(session),
        })),
      log: async (log) =>
        (await log.sessions(limit)).map((session) => ({ session, line: recordedLine(session) })),
    })
    if (input.flags['json'] === true)
      printJson(
        input.out,
        lines.map(({ session }) => session),
      )
    else
      input.out.write(
        lines.length === 0
          ? 'There are no sessions in this log.\n'
          : `${[...(input.out.isTTY === true ? ['SESSION  AGENT  STATE  LAST USED  TITLE OR DIRECTORY'] : []), ...lines.map(({ line }) => line)].join('\n')}\n`,
      )
    return 0
  },
}

type Named = { id: string; agent: string; kind: string; title: string; cwd: string }

const lineOf = (session: Named, state: string): string =>
  `${session.id}  ${oneLine(session.agent)}  ${state}  ${oneLine(session.title === '' ? session.cwd : session.title)}`

export const sessionLine = (session: Session): string =>
  lineOf(
    { ...session, agent: session.agentName },
    `${[session.kind === 'persistent' ? session.status : `${session.kind}, ${session.status}`, ...(session.buffered > 0 ? [`${session.buffered} to accept`] : []), ...(session.orphan ? ['orphan'] : [])].join(', ')}  ${agoWords(systemClock.now() - session.updatedAt)}`,
  )

/** Only a persistent session has a conversation: what a call's own did stands in the call. */
export const recordedLine = (
  session: Named & { archived: boolean | string; entries: number; createdAt: number },
): string =>
  lineOf(
    session,
    `${session.kind}${session.archived === false ? '' : ', archived'}${session.kind === 'persistent' ? `  ${session.entries === 1 ? 'one entry' : `${session.entries} entries`}` : ''}  made ${agoWords(systemClock.now() - session.createdAt)}`,
  )
