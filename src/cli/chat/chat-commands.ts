import type { ListedCall } from '../../wire/calls.ts'
import type { MessageRecord } from '../../wire/mail.ts'
import type { Session } from '../../wire/sessions.ts'
import { TielineError } from '../../client/tieline-error.ts'
import { findNearest } from '../../model/nearest.ts'
import { callLine } from '../commands/calls.ts'
import type { Conversation } from './conversation.ts'
import { sessionLine } from '../commands/sessions.ts'
import { oneLine } from '../show/width.ts'

/** Lines to print, and a message to accept; null leaves the conversation. */
type Said = { lines: string[]; accept?: string } | null
type ChatCommand = { help: string; run(conversation: Conversation, word: string): Promise<string[] | Said> }

const shownMax = 20

const commands: Readonly<Record<string, ChatCommand>> = {
  history: {
    help: 'who was called in this conversation, and how it ended',
    run: async ({ client, session }) => historyLines(await client().calls.list({ session, limit: shownMax })),
  },
  calls: {
    help: 'the newest calls of this conversation, with their ids and costs',
    run: async ({ client, session }) =>
      orNone((await client().calls.list({ session, limit: shownMax })).map(callLine), 'No calls yet.'),
  },
  sessions: {
    help: 'the newest sessions of this server',
    run: async ({ client, session }) =>
      (await client().sessions.list({ limit: shownMax })).sessions.map((one) => markedLine(one, session)),
  },
  inbox: {
    help: 'messages that wait to be accepted',
    run: async ({ client, session }) => inboxLines((await client().mail.inbox(session)).messages),
  },
  accept: {
    help: '[which]  accept a message: oldest (if left out), newest, its id, or its place in the list',
    run: async ({ client, session }, which) => accepted((await client().mail.inbox(session)).messages, which),
  },
  drafts: {
    help: 'what agents and you have written and not sent',
    run: async ({ client }) => draftLines((await client().mail.drafts(null)).messages),
  },
  release: {
    help: '[which]  send a draft: its id, or its place in /drafts; the only one if left out',
    run: async ({ client }, which) =>
      withDraft(
        (await client().mail.drafts(null)).messages,
        which,
        async ({ id, updated_at: ifUpdatedAt }) => {
          const { status, session } = await client().mail.release(id, { ifUpdatedAt })
          return [`${id} ${status}${session === null ? '' : ` to ${session}`}`]
        },
      ),
  },
  decline: {
    help: '<which>  throw a draft away, by its id or its place in /drafts; or decline a message that waits, by its id',
    run: async ({ client }, which) => {
      const { id, status } = await client().mail.decline(
        draftNamed((await client().mail.drafts(null)).messages, which)?.id ?? which,
      )
      return [`${id} ${status}`]
    },
  },
  thread: {
    help: '<id>  a message with what it answers and what answers it',
    run: async ({ client }, id) => threadLines((await client().mail.thread(id)).messages),
  },
  cancel: {
    help: 'end what runs or waits in this conversation',
    run: async ({ client, session }) => {
      const { cancelled } = await client().sessions.cancel(session, { all: true })
      return [
        cancelled === 0
          ? 'Nothing runs here.'
          : `Cancelled: ${cancelled === 1 ? 'one turn' : `${cancelled} turns`}.`,
      ]
    },
  },
  help: { help: 'this list', run: async () => chatHelp() },
  quit: {
    help: 'leave; the conversation stays, and goes on with "tieline chat --session"',
    run: async () => null,
  },
}

const mailCommands = ['inbox', 'accept', 'drafts']

export function chatHelp(): string[] {
  const width = Math.max(...Object.keys(commands).map((name) => name.length))
  return [
    ...Object.entries(commands).map(([name, { help }]) => `  /${name.padEnd(width)}  ${help}`),
    `  ${'Ctrl-C'.padEnd(width + 1)}  cancel what the agent does; twice leaves`,
  ]
}

/** The command that a line asks for; null for a message. */
export const commandNamed = (line: string): string | null => {
  const name = line.startsWith('/') ? (line.slice(1).trim().split(/\s+/)[0] ?? '') : null
  return name === 'exit' ? 'quit' : name
}

export async function chatCommand(conversation: Conversation, line: string): Promise<Said> {
  const said = await linesOf(conversation, line)
  return Array.isArray(said) ? { lines: said } : said
}

async function linesOf(conversation: Conversation, line: string): Promise<string[] | Said> {
  const words = line.slice(1).trim().split(/\s+/).slice(1)
  const name = commandNamed(line) ?? ''
  const found = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (found === undefined)
    return [
      `There is no command "/${oneLine(name)}"; ${findNearest(
        `/${name}`,
        Object.keys(commands).map((known) => `/${known}`),
      )}. A message cannot begin with a slash.`,
    ]
  try {
    return await found.run(conversation, words.join(' '))
  } catch (error) {
    if (!(error instanceof TielineError)) throw error
    return [
      mailCommands.includes(name) && error.code === 'not_found'
        ? 'This server has no mail.'
        : `tieline: ${error.message}`,
    ]
  }
}

/** `[planner -> coder] OK (12)`: the number is seconds. */
export const historyLines = (calls: readonly ListedCall[]): string[] =>
  orNone(
    calls
      .toReversed()
      .map(
        (call) =>
          `[${oneLine(call.callerName)} -> ${oneLine(call.agentName)}] ${call.outcome === null ? 'RUNNING' : call.outcome === 'completed' ? 'OK' : 'FAILED'} (${Math.round((call.durationMs ?? 0) / 1000)})`,
      ),
    'No calls yet.',
  )

/** The message that is meant, by its id, so that nobody else's is taken when the list changes meanwhile. */
export function accepted(messages: readonly MessageRecord[], which: string): string[] | Said {
  const place = /^[1-9]\d{0,4}$/.test(which) ? Number(which) - 1 : null
  const message =
    which === '' || which === 'oldest'
      ? messages[0]
      : which === 'newest'
        ? messages.at(-1)
        : (messages.find(({ id }) => id === which) ?? (place === null ? undefined : messages[place]))
  if (message !== undefined)
    return {
      lines: [`${message.id} from ${message.from ?? 'the user'}: ${oneLine(message.message)}`],
      accept: message.id,
    }
  return messages.length === 0
    ? ['No messages wait.']
    : [`There is no message "${oneLine(which)}" here. /inbox lists those that wait.`]
}

/** By its id, or else by its place in the list, which counts from 1. */
const draftNamed = (drafts: readonly MessageRecord[], which: string): MessageRecord | undefined =>
  drafts.find(({ id }) => id === which) ??
  (/^[1-9]\d{0,4}$/.test(which) ? drafts[Number(which) - 1] : undefined)

/** Nothing is released by mistake: where there are several, one is named. */
export async function withDraft(
  drafts: readonly MessageRecord[],
  which: string,
  act: (draft: MessageRecord) => Promise<string[]>,
): Promise<string[]> {
  const draft = which === '' && drafts.length === 1 ? drafts[0] : draftNamed(drafts, which)
  if (draft !== undefined) return act(draft)
  if (drafts.length === 0) return ['No drafts.']
  return [
    which === ''
      ? `There are ${drafts.length} drafts. /drafts lists them; name the one that you mean.`
      : `There is no draft "${oneLine(which)}". /drafts lists them.`,
  ]
}

const draftLines = (drafts: readonly MessageRecord[]): string[] =>
  orNone(
    drafts.map(
      ({ id, from, to, message }, index) =>
        `${index + 1}. ${id} from ${from ?? 'the user'} to ${to ?? 'a new session'}: ${oneLine(message)}`,
    ),
    'No drafts.',
  )

const threadLines = (messages: readonly MessageRecord[]): string[] =>
  orNone(
    messages.map(
      ({ id, from, to, status, message }) =>
        `${id} from ${from ?? 'the user'} to ${to ?? 'nobody'}, ${status}: ${oneLine(message)}`,
    ),
    'There is no such thread.',
  )

const markedLine = (session: Session, own: string): string =>
  `${session.id === own ? '*' : ' '} ${sessionLine(session)}`

const inboxLines = (messages: readonly { id: string; from: string | null; message: string }[]): string[] =>
  orNone(
    messages.map(
      ({ id, from, message }, index) => `${index + 1}. ${id} from ${from ?? 'the user'}: ${oneLine(message)}`,
    ),
    'No messages wait.',
  )

const orNone = (lines: string[], none: string): string[] => (lines.length === 0 ? [none] : lines)
