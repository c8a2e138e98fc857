/** The commands of a conversation, which begin with a slash. */
import type { ListedCall } from '../../wire/calls.ts'
import type { MessageRecord } from '../../wire/mail.ts'
import type { TielineClient } from '../../client/client.ts'
import { readPages } from '../../client/read-pages.ts'
import { TielineError } from '../../client/tieline-error.ts'
import { findNearest } from '../../model/nearest.ts'
import { renderCall } from '../commands/calls.ts'
import type { Conversation } from './conversation.ts'
import { renderSession } from '../commands/sessions.ts'
import { describeSent } from '../commands/send.ts'
import { countNoun } from '../show/amounts.ts'
import { oneLine } from '../show/width.ts'

/** Lines to print, and a message to accept; null leaves the conversation. */
type Said = { lines: string[]; accept?: string } | null
type Run = (conversation: Conversation, word: string) => Promise<string[] | Said>

const shownMax = 20

const readInbox = (client: TielineClient, session: string): Promise<MessageRecord[]> =>
  readPages((after) => client.mail.inbox(session, after === null ? {} : { after }))
const readDrafts = (client: TielineClient): Promise<MessageRecord[]> =>
  readPages((before) => client.mail.drafts(null, before === null ? {} : { before }))

const commands: Readonly<Record<string, { help: string; run: Run }>> = {
  history: {
    help: 'the calls of this conversation, and how they ended',
    run: async ({ client, session }) =>
      renderHistory(await client().calls.list({ session, limit: shownMax })),
  },
  calls: {
    help: 'the newest calls of this conversation, with their ids and costs',
    run: async ({ client, session, showId }) =>
      orNone(
        (await client().calls.list({ session, limit: shownMax })).map((one) => renderCall(one, showId)),
        'No calls yet.',
      ),
  },
  sessions: {
    help: 'the newest sessions of this server',
    run: async ({ client, session, showId }) =>
      (await client().sessions.list({ limit: shownMax })).sessions.map(
        (one) => `${one.id === session ? '*' : ' '} ${renderSession(one, showId)}`,
      ),
  },
  inbox: {
    help: 'messages that wait to be accepted',
    run: async ({ client, session }) => renderInbox(await readInbox(client(), session)),
  },
  accept: {
    help: '[which]  accept a message: oldest (the default), newest, its id, or its number in /inbox',
    run: async ({ client, session }, which) => chooseMessage(await readInbox(client(), session), which),
  },
  drafts: {
    help: 'what agents and you have written and not sent',
    run: async ({ client }) => renderDrafts(await readDrafts(client())),
  },
  release: {
    help: '[which]  send a draft: its id, or its number in /drafts; by default the only one',
    run: async ({ client }, which) => {
      const drafts = await readDrafts(client())
      return useDraft(drafts, which, async ({ id, updated_at: ifUpdatedAt }) => [
        describeSent({ ...(await client().mail.release(id, { ifUpdatedAt })), id }),
      ])
    },
  },
  decline: {
    help: '<which>  throw away a draft (its id, or its number in /drafts), or decline a message (its id)',
    run: async ({ client }, which) => {
      const drafts = await readDrafts(client())
      const { id, status } = await client().mail.decline(findMessage(drafts, which)?.id ?? which)
      return [`${id} ${status}`]
    },
  },
  thread: {
    help: '<id>  a message with what it answers and what answers it',
    run: async ({ client }, id) =>
      renderThread(await readPages((after) => client().mail.thread(id, after === null ? {} : { after }))),
  },
  cancel: {
    help: 'end what runs or waits in this conversation',
    run: async ({ client, session }) => {
      const { cancelled } = await client().sessions.cancel(session, { all: true })
      return [cancelled === 0 ? 'Nothing runs here.' : `Cancelled: ${countNoun(cancelled, 'turn')}.`]
    },
  },
  help: { help: 'this list', run: async () => renderChatHelp() },
  quit: {
    help: 'leave; "tieline chat --session" continues the conversation',
    run: async () => null,
  },
}

const mailCommands = ['inbox', 'accept', 'drafts']

export function renderChatHelp(): string[] {
  const width = Math.max(...Object.keys(commands).map((name) => name.length))
  return [
    ...Object.entries(commands).map(([name, { help }]) => `  /${name.padEnd(width)}  ${help}`),
    `  ${'Ctrl-C'.padEnd(width + 1)}  cancel what the agent does; twice leaves`,
  ]
}

/** The name of the command in a line; null for a message. */
export const readCommandName = (line: string): string | null => {
  const name = line.startsWith('/') ? (line.slice(1).trim().split(/\s+/)[0] ?? '') : null
  return name === 'exit' ? 'quit' : name
}

export async function runChatCommand(conversation: Conversation, line: string): Promise<Said> {
  const words = line.slice(1).trim().split(/\s+/).slice(1)
  const name = readCommandName(line) ?? ''
  const found = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (found === undefined) {
    const known = Object.keys(commands).map((one) => `/${one}`)
    const text = `There is no command "/${oneLine(name)}"; ${findNearest(`/${name}`, known)}.`
    return { lines: [`${text} A message cannot begin with a slash.`] }
  }
  try {
    const said = await found.run(conversation, words.join(' '))
    return Array.isArray(said) ? { lines: said } : said
  } catch (error) {
    if (!(error instanceof TielineError)) throw error
    const hasNoMail = mailCommands.includes(name) && error.code === 'not_found'
    return { lines: [hasNoMail ? 'This server has no mail.' : `tieline: ${error.message}`] }
  }
}

/** `[planner -> coder] OK (12)`: the number is seconds. */
export const renderHistory = (calls: readonly ListedCall[]): string[] =>
  orNone(
    calls.toReversed().map(({ callerName, agentName, outcome, durationMs }) => {
      const end = outcome === null ? 'RUNNING' : outcome === 'completed' ? 'OK' : 'FAILED'
      const seconds = Math.round((durationMs ?? 0) / 1000)
      return `[${oneLine(callerName)} -> ${oneLine(agentName)}] ${end} (${seconds})`
    }),
    'No calls yet.',
  )

/** By its id, or by its number in the list. */
const findMessage = (messages: readonly MessageRecord[], which: string): MessageRecord | undefined =>
  messages.find(({ id }) => id === which) ??
  (/^[1-9]\d{0,4}$/.test(which) ? messages[Number(which) - 1] : undefined)

/** Accepts by id, so that a list that changes meanwhile does not matter. */
export function chooseMessage(messages: readonly MessageRecord[], which: string): string[] | Said {
  const message =
    which === '' || which === 'oldest'
      ? messages[0]
      : which === 'newest'
        ? messages.at(-1)
        : findMessage(messages, which)
  if (message !== undefined) return { lines: [renderMessage(message)], accept: message.id }
  return messages.length === 0
    ? ['No messages wait.']
    : [`There is no message "${oneLine(which)}" here. /inbox lists those that wait.`]
}

/** Where there are several drafts, one must be named, so that none is released by mistake. */
export async function useDraft(
  drafts: readonly MessageRecord[],
  which: string,
  act: (draft: MessageRecord) => Promise<string[]>,
): Promise<string[]> {
  const draft = which === '' && drafts.length === 1 ? drafts[0] : findMessage(drafts, which)
  if (draft !== undefined) return act(draft)
  if (drafts.length === 0) return ['No drafts.']
  return [
    which === ''
      ? `There are ${drafts.length} drafts. /drafts lists them; name the one that you mean.`
      : `There is no draft "${oneLine(which)}". /drafts lists them.`,
  ]
}

const renderMessage = ({ id, from, message }: MessageRecord, more = ''): string =>
  `${id} from ${from ?? 'the user'}${more}: ${oneLine(message)}`

const renderInbox = (messages: readonly MessageRecord[]): string[] =>
  orNone(
    messages.map((message, index) => `${index + 1}. ${renderMessage(message)}`),
    'No messages wait.',
  )

const renderDrafts = (drafts: readonly MessageRecord[]): string[] =>
  orNone(
    drafts.map(
      (draft, index) => `${index + 1}. ${renderMessage(draft, ` to ${draft.to ?? 'a new session'}`)}`,
    ),
    'No drafts.',
  )

const renderThread = (messages: readonly MessageRecord[]): string[] =>
  orNone(
    messages.map((message) => renderMessage(message, ` to ${message.to ?? 'nobody'}, ${message.status}`)),
    'There is no such thread.',
  )

const orNone = (lines: string[], none: string): string[] => (lines.length === 0 ? [none] : lines)
