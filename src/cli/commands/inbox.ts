import type { MessageRecord } from '../../wire/mail.ts'
import type { Session } from '../../wire/sessions.ts'
import type { TielineClient } from '../../client/client.ts'
import { readPages } from '../../client/read-pages.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { flagText, printJson, UsageError, wantsColour, type Command, type CommandInput } from '../command.ts'
import { withServer } from '../reach/reach.ts'
import {
  renderDraftCount,
  renderDraftHelp,
  renderDrafts,
  renderInbox,
  renderLetters,
  type Box,
  type MailView,
} from '../show/mail-lines.ts'
import { describeSent } from './send.ts'

export const inbox: Command = {
  name: 'inbox',
  words: ['[session]'],
  help: 'Shows the messages that wait, for one session or for all',
  flags: {
    drafts: { help: 'drafts of all, of one session, or of you ("me")' },
    dead: { help: 'messages whose receiver is gone' },
    thread: { value: 'ID', help: 'a message with what it answers and what answers it' },
    release: { value: 'ID', help: "send this draft, yours or an agent's" },
    revise: { value: 'ID', help: 'change this draft to --text' },
    text: { value: 'TEXT', help: 'the new text of the draft' },
    decline: { value: 'ID', help: 'decline this message, or throw this draft away' },
  },
  more: `
Messages between sessions wait until they are accepted, so that nobody is interrupted. Replies to you wait in
an inbox of your own, "me".
With [mail] release = "person", everything that agents write to each other waits as a draft until you release
it. It is still from the agent that wrote it, and the log says that you sent it.`,
  examples: [
    'tieline inbox',
    'tieline inbox ses_01',
    'tieline accept ses_01 2',
    'tieline inbox --drafts',
    'tieline inbox --revise msg_01 --text "Please look at the tests"',
    'tieline inbox --release msg_01',
    'tieline inbox --thread msg_01',
  ],
  run: (input) =>
    withServer(input, async ({ client }) => {
      const { json, lines } = (await changeMessage(input, client)) ?? (await readMail(input, client))
      if (input.flags['json'] === true) printJson(input.out, json)
      else input.out.write(`${lines(await openMailView(input, client)).join('\n')}\n`)
      return 0
    }),
}

type Shown = { json: unknown; lines: (view: MailView) => string[] }
type Once = { signal: AbortSignal }

const userSession = 'ses_user'

/** On the command line the user's own inbox is called "me". */
export const expandSession = (word: string): string => (word === 'me' ? userSession : word)

async function readMail({ words, flags, signal }: CommandInput, client: TielineClient): Promise<Shown> {
  const once = { signal }
  const session = words[0] === undefined ? null : expandSession(words[0])
  const thread = flagText(flags['thread'])
  const showLetters = (messages: MessageRecord[], none: string): Shown => ({
    json: messages,
    lines: (view) => renderLetters(messages, none, view),
  })
  if (thread !== undefined)
    return showLetters(
      await readPages((after) => client.mail.thread(thread, after === null ? {} : { after }, once)),
      'There is no such thread.',
    )
  if (flags['dead'] === true)
    return showLetters(
      await readPages((before) => client.mail.deadLetters(before === null ? {} : { before }, once)),
      'There are no dead letters.',
    )
  if (flags['drafts'] === true) {
    const drafts = await readPages((before) =>
      client.mail.drafts(session, before === null ? {} : { before }, once),
    ).catch(emptyIfUnknown(session, []))
    return {
      json: drafts,
      lines: (view) => [...renderDrafts(drafts, view), ...renderDraftHelp(drafts, view)],
    }
  }
  const boxes = await readBoxes(client, session, once)
  if (session !== null) return { json: boxes[0]?.messages ?? [], lines: (view) => renderInbox(boxes, view) }
  const { messages, next } =
    flags['json'] === true ? { messages: [], next: null } : await client.mail.drafts(null, {}, once)
  return {
    json: boxes,
    lines: (view) => [...renderInbox(boxes, view), ...renderDraftCount(messages.length, next === null)],
  }
}

/** Releases, revises or declines one message; null where the flags ask for none of these. */
async function changeMessage({ flags, signal }: CommandInput, client: TielineClient): Promise<Shown | null> {
  const [released, revised, declined, text] = ['release', 'revise', 'decline', 'text'].map((name) =>
    flagText(flags[name]),
  )
  if ([released, revised, declined].filter((id) => id !== undefined).length > 1)
    throw new UsageError('--release, --revise and --decline are done one at a time.')
  if (revised === undefined && text !== undefined)
    throw new UsageError('--text needs --revise ID: the draft that gets it.')
  if (revised !== undefined && text === undefined)
    throw new UsageError('--revise needs --text "…": what the draft says then.')
  const once = { signal }
  if (released !== undefined) {
    const sent = await client.mail.release(released, once)
    return { json: sent, lines: () => [describeSent(sent)] }
  }
  if (revised === undefined && declined === undefined) return null
  const message =
    revised === undefined
      ? await client.mail.decline(declined ?? '', once)
      : await client.mail.revise(revised, text ?? '', once)
  return { json: message, lines: () => [`${message.id} ${message.status}`] }
}

const pageMax = 200
const pagesMax = 50

/** The user's own session is created when it is first needed; until then it is empty. */
const emptyIfUnknown =
  <T>(session: string | null, empty: T) =>
  (error: unknown): T => {
    if (session === userSession && (error as { code?: string }).code === 'session_unknown') return empty
    throw error
  }

async function readBoxes(client: TielineClient, session: string | null, once: Once): Promise<Box[]> {
  const full = session === null ? await listFull(client, once) : [session]
  return Promise.all(
    full
      .toSorted((a, b) => Number(b === userSession) - Number(a === userSession))
      .map(async (id) => {
        const messages = await readPages((after) =>
          client.mail.inbox(id, after === null ? {} : { after }, once),
        ).catch(emptyIfUnknown(id, []))
        return { session: id, messages, total: messages.length }
      }),
  )
}

/** The sessions that have messages to accept. */
async function listFull(client: TielineClient, once: Once): Promise<string[]> {
  const found: Session[] = []
  for (let page = 0, cursor: string | undefined; page < pagesMax; page += 1) {
    const ask = { limit: pageMax, ...(cursor === undefined ? {} : { cursor }) }
    const { sessions, next } = await client.sessions.list(ask, once)
    found.push(...sessions.filter(({ buffered }) => buffered > 0))
    if (next === null) break
    cursor = next
  }
  return found.map(({ id }) => id)
}

export async function openMailView(
  { out, env, signal }: CommandInput,
  client: TielineClient,
): Promise<MailView> {
  const { sessions } = await client.sessions.list({ limit: pageMax }, { signal })
  const names = new Map<string, string>(sessions.map(({ id, agentName }) => [id, agentName]))
  return {
    width: out.columns ?? 100,
    colour: wantsColour(out, env),
    now: systemClock.now(),
    nameOf: (session) => names.get(session) ?? null,
  }
}
