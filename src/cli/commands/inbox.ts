import type { MessageRecord } from '../../wire/mail.ts'
import type { Session } from '../../wire/sessions.ts'
import type { TielineClient } from '../../client/client.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { flagText, printJson, UsageError, wantsColour, type Command, type CommandInput } from '../command.ts'
import type { Box, MailView } from '../show/mail-lines.ts'

export const inbox: Command = {
  name: 'inbox',
  words: ['[session]'],
  help: 'Shows the messages that wait, for one session or for all',
  flags: {
    drafts: { help: 'what was written and not sent: by all, by one session, or by you ("me")' },
    dead: { help: 'messages whose receiver is gone' },
    thread: { value: 'ID', help: 'a message with what it answers and what answers it' },
    release: { value: 'ID', help: "send this draft, yours or an agent's" },
    revise: { value: 'ID', help: 'change this draft to --text' },
    text: { value: 'TEXT', help: 'what the draft says then' },
    decline: { value: 'ID', help: 'decline this message, or throw this draft away' },
  },
  more: [
    'Messages between sessions wait until they are accepted, so that nobody is interrupted. Replies to you wait in an inbox of your own, "me".',
    'With [tools.defaults.send-message] draft = true, whatever agents write to each other waits as a draft until you release it; it is still from the agent that wrote it, and the log says that you sent it.',
    '',
    'Examples:',
    '  tieline inbox',
    '  tieline inbox ses_01',
    '  tieline accept ses_01 2',
    '  tieline inbox --drafts',
    '  tieline inbox --revise msg_01 --text "Please look at the tests"',
    '  tieline inbox --release msg_01',
    '  tieline inbox --thread msg_01',
  ],
  async run(input: CommandInput): Promise<number> {
    const { withServer } = await import('../reach/reach.ts')
    return withServer(input, async ({ client }) => {
      const shown = await shownOf(input, client)
      if (input.flags['json'] === true) printJson(input.out, shown.json)
      else input.out.write(`${shown.lines(await showInbox(input, client)).join('\n')}\n`)
      return 0
    })
  },
}

type Shown = { json: unknown; lines(view: MailView): string[] }

/** How the user's own inbox is named on the command line. */
export const findSession = (word: string): string => (word === 'me' ? 'ses_user' : word)

async function shownOf(input: CommandInput, client: TielineClient): Promise<Shown> {
  const {
    words: [word],
    flags,
    signal,
  } = input
  const { draftHelp, draftLines, inboxLines, draftCount, letterLines } = await import('../show/mail-lines.ts')
  const once = { signal }
  const done = await doneWith(input, client)
  if (done !== null) return done
  const thread = flagText(flags['thread'])
  const letters = (messages: MessageRecord[], none: string): Shown => ({
    json: messages,
    lines: (view) => letterLines(messages, none, view),
  })
  if (thread !== undefined)
    return letters(
      await allPages((after) => client.mail.thread(thread, after === null ? {} : { after }, once)),
      'There is no such thread.',
    )
  if (flags['dead'] === true)
    return letters(
      await allPages((before) => client.mail.deadLetters(before === null ? {} : { before }, once)),
      'There are no dead letters.',
    )
  if (flags['drafts'] === true) {
    const messages = await draftsOf(client, word === undefined ? null : findSession(word), once)
    return { json: messages, lines: (view) => [...draftLines(messages, view), ...draftHelp(messages, view)] }
  }
  const boxes = await boxesOf(client, word === undefined ? null : findSession(word), once)
  const drafts =
    word === undefined && flags['json'] !== true
      ? await client.mail.drafts(null, {}, once)
      : { messages: [], next: null }
  return {
    json: word === undefined ? boxes : (boxes[0]?.messages ?? []),
    lines: (view) => [
      ...inboxLines(boxes, view),
      ...draftCount(drafts.messages.length, drafts.next === null),
    ],
  }
}

/** What is done with one message: released, changed, declined. Null where nothing of that was asked for. */
async function doneWith({ flags, signal }: CommandInput, client: TielineClient): Promise<Shown | null> {
  const once = { signal }
  const [released, revised, declined, text] = [
    flagText(flags['release']),
    flagText(flags['revise']),
    flagText(flags['decline']),
    flagText(flags['text']),
  ]
  const asked = [released, revised, declined].filter((id) => id !== undefined)
  if (asked.length > 1) throw new UsageError('--release, --revise and --decline are done one at a time.')
  if ((revised === undefined) !== (text === undefined))
    throw new UsageError(
      revised === undefined
        ? '--text needs --revise ID: the draft that gets it.'
        : '--revise needs --text "…": what the draft says then.',
    )
  if (released !== undefined) {
    const sent = await client.mail.release(released, once)
    return {
      json: sent,
      lines: () => [`${sent.id} ${sent.status}${sent.session === null ? '' : ` to ${sent.session}`}`],
    }
  }
  if (revised === undefined && declined === undefined) return null
  const message =
    revised === undefined
      ? await client.mail.decline(declined ?? '', once)
      : await client.mail.revise(revised, text ?? '', once)
  return { json: message, lines: () => [`${message.id} ${message.status}`] }
}

async function allPages(
  read: (next: number | null) => Promise<{ messages: MessageRecord[]; next: number | null }>,
): Promise<MessageRecord[]> {
  const found: MessageRecord[] = []
  for (let page = 0, at: number | null = null; page < pagesMax; page += 1) {
    const { messages, next }: { messages: MessageRecord[]; next: number | null } = await read(at)
    found.push(...messages)
    if (next === null) break
    at = next
  }
  return found
}

/** The user's own session is made when it is first needed: until then it has nothing. */
const isUnknown = (error: unknown, session: string): boolean =>
  session === 'ses_user' && (error as { code?: string }).code === 'session_unknown'

const draftsOf = (
  client: TielineClient,
  session: string | null,
  once: { signal: AbortSignal },
): Promise<MessageRecord[]> =>
  allPages((before) => client.mail.drafts(session, before === null ? {} : { before }, once)).catch(
    (error: unknown) => {
      if (session !== null && isUnknown(error, session)) return []
      throw error
    },
  )

async function boxesOf(
  client: TielineClient,
  session: string | null,
  once: { signal: AbortSignal },
): Promise<Box[]> {
  const full =
    session === null
      ? (await allSessions(client, once)).filter(({ buffered }) => buffered > 0).map(({ id }) => id)
      : [session]
  return Promise.all(
    full
      .toSorted((a, b) => Number(b === 'ses_user') - Number(a === 'ses_user'))
      .map(async (id) => {
        const { messages, total } = await client.mail.inbox(id, {}, once).catch((error: unknown) => {
          if (isUnknown(error, id)) return { messages: [], total: 0 }
          throw error
        })
        return { session: id, messages, total }
      }),
  )
}

const pageMax = 200
const pagesMax = 50

async function allSessions(client: TielineClient, once: { signal: AbortSignal }): Promise<Session[]> {
  const found: Session[] = []
  for (let page = 0, cursor: string | undefined; page < pagesMax; page += 1) {
    const { sessions, next } = await client.sessions.list(
      { limit: pageMax, ...(cursor === undefined ? {} : { cursor }) },
      once,
    )
    found.push(...sessions)
    if (next === null) break
    cursor = next
  }
  return found
}

export async function showInbox(
  { out, env, signal }: CommandInput,
  client: TielineClient,
): Promise<MailView> {
  const names = new Map(
    (await client.sessions.list({ limit: pageMax }, { signal })).sessions.map(({ id, agentName }) => [
      id as string,
      agentName,
    ]),
  )
  return {
    width: out.columns ?? 100,
    colour: wantsColour(out, env),
    now: systemClock.now(),
    nameOf: (session) => names.get(session) ?? null,
  }
}
