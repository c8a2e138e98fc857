import type { SessionKind } from '../../model/event.ts'
import type { Session } from '../../wire/sessions.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { formatAgo, formatCount, formatDuration } from '../show/amounts.ts'
import { printResult, type Command, type CommandInput } from '../command.ts'
import { describeCost } from '../show/cost.ts'
import { limitFlag, readLimit } from '../flags.ts'
import { readRecorded } from '../reach/recorded-log.ts'
import { oneLine } from '../show/width.ts'
import { chooseIds, renderList } from './calls.ts'

export const sessions: Command = {
  name: 'sessions',
  words: [],
  help: 'Lists sessions, newest first: agent, state, last activity, tokens, cost and title',
  flags: { limit: limitFlag },
  more: `
A running server leaves out the sessions that calls made for themselves. Read from a log, they are listed too,
as made by a call.`,
  examples: [
    'tieline sessions',
    'tieline chat --session last      continue the newest',
    'tieline send ses_01 "And now?"   or write to it',
  ],
  async run(input: CommandInput): Promise<number> {
    const limit = readLimit(input)
    const { found, lines, none } = await readRecorded<{ found: object[]; lines: string[]; none: string }>(
      input,
      {
        async server(client) {
          const { sessions: found } = await client.sessions.list({ limit }, input)
          const asking = new Set((await client.questions.list(input)).map(({ session }) => session))
          return {
            found,
            lines: found.map((one) => renderSession(one, chooseIds(input), asking)),
            none: noneOpen,
          }
        },
        async log(log) {
          const found = await log.sessions(limit)
          return {
            found,
            lines: found.map((one) => renderRecorded(one, chooseIds(input))),
            none: noneRecorded,
          }
        },
      },
    )
    const title = 'SESSION  AGENT  STATE  LAST ACTIVE  USED  TITLE OR DIRECTORY'
    printResult(input, found, renderList(input, title, lines, none))
    return 0
  },
}

/** A server lists what one can go on with. */
const noneOpen = 'No sessions are open. Those that calls made, and archived ones, are not listed.'
const noneRecorded = 'There are no sessions in this log.'

type Named = { id: string; title: string; cwd: string }

/** As people say it. */
const kindWords: Readonly<Record<SessionKind, string>> = {
  persistent: 'persistent',
  ephemeral: 'made by a call',
  external: 'client',
}

type ShowId = (id: string) => string

const renderLine = (
  { id, title, cwd }: Named,
  agent: string,
  state: string,
  at: string,
  used: string,
): string => [id, oneLine(agent), state, at, used, oneLine(title === '' ? cwd : title)].join('  ')

const whole: ShowId = (id) => id

/** `asking` has the sessions that wait for a person's permission. */
export function renderSession(
  session: Session,
  showId = whole,
  asking: ReadonlySet<string> = new Set(),
): string {
  const { kind, buffered, orphan, agentName, updatedAt, presence, wakeable, quietUntil } = session
  const status = session.away ? 'program away' : asking.has(session.id) ? 'asks you' : session.status
  const now = systemClock.now()
  const state = [
    ...(presence !== null ? [presence] : kind === 'persistent' ? [status] : [kindWords[kind], status]),
    ...(wakeable ? ['can be woken'] : []),
    ...(quietUntil === null ? [] : [`quiet for ${formatDuration(quietUntil - now)}`]),
    ...(buffered > 0 ? [`${buffered} to accept`] : []),
    ...(orphan ? ['orphan'] : []),
  ]
  return renderLine(
    { ...session, id: showId(session.id) },
    agentName,
    state.join(', '),
    formatAgo(now - updatedAt),
    describeUsed(session),
  )
}

/** A server from before an update does not say it. */
const describeUsed = ({ tokensUsed = 0, cost }: Partial<Session>): string =>
  tokensUsed === 0 || cost === undefined ? '–' : `${formatCount(tokensUsed)} tokens${describeCost(cost)}`

type Recorded = Named & {
  agent: string
  kind: SessionKind
  archived: boolean | string
  entries: number
  createdAt: number
}

/** Only a persistent session has entries: those of a call are in the call. */
function renderRecorded(session: Recorded, showId: ShowId): string {
  const { agent, kind, archived, entries, createdAt } = session
  const count = entries === 1 ? 'one entry' : `${entries} entries`
  const kept = archived === false ? '' : ', archived'
  const state = `${kindWords[kind]}${kept}${kind === 'persistent' ? `  ${count}` : ''}`
  return renderLine(
    { ...session, id: showId(session.id) },
    agent,
    state,
    `made ${formatAgo(systemClock.now() - createdAt)}`,
    '–',
  )
}
