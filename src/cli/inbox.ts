/** `tieline inbox [session]`: the messages that wait, of one session or of all; drafts, threads and dead letters. */
import type { MessageRecord, Session } from '../client/answers.ts'
import type { TielineClient } from '../client/client.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { flagText, printJson, wantsColour, type Command, type CommandInput } from './command.ts'
import type { Box, MailView } from './mail-lines.ts'

export const inbox: Command = {
  name: 'inbox',
  words: ['[session]'],
  help: 'Shows the messages that wait, for one session or for all',
  flags: {
    drafts: { help: 'what the session has written and not sent; without a session, your own drafts' },
    dead: { help: 'messages whose receiver is gone' },
    thread: { value: 'ID', help: 'a message with what it answers and what answers it' },
    release: { value: 'ID', help: 'send this draft' },
    decline: { value: 'ID', help: 'decline this message, or throw this draft away' },
  },
  more: [
    'Messages between sessions wait until they are accepted, so that nobody is interrupted. Replies to you wait in an inbox of your own, "me".', '',
    'Examples:', '  tieline inbox', '  tieline inbox ses_01', '  tieline accept ses_01 2', '  tieline inbox me --drafts', '  tieline inbox --thread msg_01',
  ],
  async run(input: CommandInput): Promise<number> {
    const { withServer } = await import('./reach.ts')
    return withServer(input, async ({ client }) => {
      const shown = await shownOf(input, client)
      if (input.flags['json'] === true) printJson(input.out, shown.json)
      else input.out.write(`${shown.lines(await viewOf(input, client)).join('\n')}\n`)
      return 0
    })
  },
}

type Shown = { json: unknown; lines(view: MailView): string[] }

/** How the user's own inbox is named on the command line. */
export const sessionOf = (word: string): string => (word === 'me' ? 'ses_user' : word)

async function shownOf({ words: [word], flags, signal }: CommandInput, client: TielineClient): Promise<Shown> {
  const { draftLines, inboxLines, letterLines } = await import('./mail-lines.ts')
  const once = { signal }
  const thread = flagText(flags['thread'])
  const letters = (messages: MessageRecord[], none: string): Shown => ({ json: messages, lines: (view) => letterLines(messages, none, view) })
  if (thread !== undefined) return letters((await client.mail.thread(thread, once)).messages, 'There is no such thread.')
  const [released, declined] = [flagText(flags['release']), flagText(flags['decline'])]
  if (released !== undefined) {
    const sent = await client.mail.release(released, once)
    return { json: sent, lines: () => [`${sent.id} ${sent.status}${sent.session === null ? '' : ` to ${sent.session}`}`] }
  }
  if (declined !== undefined) {
    const message = await client.mail.decline(declined, once)
    return { json: message, lines: () => [`${message.id} ${message.status}`] }
  }
  if (flags['dead'] === true) return letters((await client.mail.deadLetters({}, once)).messages, 'There are no dead letters.')
  if (flags['drafts'] === true) {
    const { messages } = await draftsOf(client, sessionOf(word ?? 'me'), once)
    return { json: messages, lines: (view) => draftLines(messages, view) }
  }
  const boxes = await boxesOf(client, word === undefined ? null : sessionOf(word), once)
  return { json: word === undefined ? boxes : (boxes[0]?.messages ?? []), lines: (view) => inboxLines(boxes, view) }
}

/** The user's own session is made when it is first needed: until then it has nothing. */
const isUnknown = (error: unknown, session: string): boolean => session === 'ses_user' && (error as { code?: string }).code === 'session_unknown'

const draftsOf = (client: TielineClient, session: string, once: { signal: AbortSignal }): Promise<{ messages: MessageRecord[] }> =>
  client.mail.drafts(session, once).catch((error: unknown) => {
    if (isUnknown(error, session)) return { messages: [] }
    throw error
  })

async function boxesOf(client: TielineClient, session: string | null, once: { signal: AbortSignal }): Promise<Box[]> {
  const full = session === null ? (await allSessions(client, once)).filter(({ buffered }) => buffered > 0).map(({ id }) => id) : [session]
  return Promise.all(full.toSorted((a, b) => Number(b === 'ses_user') - Number(a === 'ses_user')).map(async (id) => {
    const { messages, total } = await client.mail.inbox(id, {}, once).catch((error: unknown) => {
      if (isUnknown(error, id)) return { messages: [], total: 0 }
      throw error
    })
    return { session: id, messages, total }
  }))
}

const pageMax = 200
const pagesMax = 50

async function allSessions(client: TielineClient, once: { signal: AbortSignal }): Promise<Session[]> {
  const found: Session[] = []
  for (let page = 0, cursor: string | undefined; page < pagesMax; page += 1) {
    const { sessions, next } = await client.sessions.list({ limit: pageMax, ...(cursor === undefined ? {} : { cursor }) }, once)
    found.push(...sessions)
    if (next === null) break
    cursor = next
  }
  return found
}

export async function viewOf({ out, env, signal }: CommandInput, client: TielineClient): Promise<MailView> {
  const names = new Map((await client.sessions.list({ limit: pageMax }, { signal })).sessions.map(({ id, agentName }) => [id as string, agentName]))
  return { width: out.columns ?? 100, colour: wantsColour(out, env), now: systemClock.now(), nameOf: (session) => names.get(session) ?? null }
}
