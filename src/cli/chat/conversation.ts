/** A conversation with a session, which survives the end of the server that it began on. */
import type { CreatedSession } from '../../wire/sessions.ts'
import type { TielineClient } from '../../client/client.ts'
import { TielineError } from '../../client/tieline-error.ts'
import { readAwayMsMax } from '../reach/connection.ts'
import { flagText, isSilent, UsageError, wantsColour, wantsLive, type CommandInput } from '../command.ts'
import { chooseIds } from '../commands/calls.ts'
import { readCwd } from '../flags.ts'
import type { Lines } from './prompt.ts'
import { openPersonPrompt } from './question.ts'
import { mayTakeOver, reachServer, type Reached } from '../reach/reach.ts'
import type { Tree } from '../show/tree.ts'
import { newMessageId, openWatch, planMessage } from '../show/watch.ts'
import type { AskPerson, Watch, WatchOptions, Work, WorkResult } from '../show/watch.ts'

type Opened = { session: string; agent: string; cwd: string }

export type Conversation = Opened & {
  client: () => TielineClient
  /** The server ends with this command. */
  isOwn: () => boolean
  /** Returns when the turn has ended; cancels it when `signal` aborts. */
  send(text: string, timeoutMs: number | null, signal: AbortSignal): Promise<WorkResult>
  /** The same for a message in the inbox. */
  accept(message: string, signal: AbortSignal): Promise<WorkResult>
  /** Prints a text above what is drawn. */
  note(text: string): void
  /** How ids are shown: short to a person. */
  showId: (id: string) => string
  /** What the last message caused. */
  tree(): Tree
  close(): Promise<void>
}

/** Where the work is shown; `conversation` keeps calls as lines and clears the tree. */
export type Showing = {
  out: CommandInput['out']
  conversation: boolean
  /** Where the user types meanwhile. */
  lines?: Pick<Lines, 'typed' | 'aside'>
}

export async function openConversation(input: CommandInput, showing: Showing): Promise<Conversation> {
  let { reached, watch, ...place } = await openSession(input, showing)
  const { session } = place
  const follow = async (work: () => Work, signal: AbortSignal): Promise<WorkResult> => {
    const after = watch.cursor()
    for (let tries = 1; ; tries += 1) {
      try {
        if (tries > 1) await takeOver(after)
        return await watch.show(() => watch.follow(work(), signal))
      } catch (error) {
        if (!mayTakeOver(error, reached, tries, signal)) throw error
      }
    }
  }
  // The server belonged to a command that has ended. A message that is sent again keeps its id, so that it
  // has one effect.
  const takeOver = async (after: string | null): Promise<void> => {
    await watch.close()
    await reached.close()
    reached = await reachServer(input)
    watch = await openWatch(reached.client, { ...watchOptions(input, reached, showing), after })
  }
  return {
    ...place,
    client: () => reached.client,
    isOwn: () => reached.own !== null,
    note: (text) => (isSilent(input) ? void showing.out.write(`${text}\n`) : watch.note(text)),
    showId: chooseIds(showing),
    tree: () => watch.tree(),
    send(text, timeoutMs, signal) {
      const id = newMessageId()
      return follow(() => ({ ...planMessage(reached.client, session, text, id), timeoutMs }), signal)
    },
    accept(message, signal) {
      const key = newMessageId()
      const start: Work['start'] = (until) =>
        reached.client.mail.accept(session, message, { signal: until, key })
      return follow(() => ({ session, message, start }), signal)
    },
    async close() {
      await watch.close()
      await reached.close()
    },
  }
}

/** The server may go between two requests, when it belongs to a command that is just ending. */
async function openSession(
  input: CommandInput,
  showing: Showing,
): Promise<Opened & { reached: Reached; watch: Watch }> {
  for (let tries = 1; ; tries += 1) {
    const reached = await reachServer(input)
    try {
      const place = await findSession(reached, input)
      const watch = await openWatch(reached.client, watchOptions(input, reached, showing))
      return { ...place, reached, watch }
    } catch (error) {
      await reached.close()
      if (reached.own !== null || !mayTakeOver(error, reached, tries, input.signal)) throw error
    }
  }
}

export const watchOptions = (
  input: CommandInput,
  reached: Pick<Reached, 'remote'>,
  { out, conversation, lines }: Showing,
): WatchOptions => ({
  out: isSilent(input) ? null : out,
  live: wantsLive(out, input.env),
  colour: wantsColour(out, input.env),
  conversation,
  typed: lines?.typed ?? null,
  askPerson: askAside(openPersonPrompt(input), lines),
  awayMsMax: readAwayMsMax(reached),
})

/** The prompt has the terminal while an agent works; a question takes it for a while. */
const askAside = (ask: AskPerson | undefined, lines: Showing['lines']): AskPerson | undefined =>
  ask === undefined || lines === undefined
    ? ask
    : (question, signal) => lines.aside(() => ask(question, signal))

/** The session that was named, or a new one in the user's directory. */
async function findSession(
  reached: Reached,
  { flags, env, signal }: Pick<CommandInput, 'flags' | 'env' | 'signal'>,
): Promise<Opened> {
  const named = flagText(flags['session'])
  const [agent, cwd] = [flagText(flags['agent']), flagText(flags['cwd'])]
  if (named === undefined) return createSession(reached, readCwd({ flags, env }), agent, signal)
  if (agent !== undefined || cwd !== undefined)
    throw new UsageError(
      '--session continues a session that already has an agent and a directory: ' +
        'leave out --agent and --cwd.',
    )
  const found = await reached.client.sessions.get(named, { signal })
  return { session: found.id, agent: found.agentName, cwd: found.cwd }
}

async function createSession(
  { client, firstAgent }: Reached,
  cwd: string,
  named: string | undefined,
  signal: AbortSignal,
): Promise<Opened> {
  // Without a key: the server's own ids are shorter, and an extra session after a broken connection is harmless.
  const create = (agent: string | undefined): Promise<CreatedSession> =>
    client.sessions.create({ cwd, ...(agent === undefined ? {} : { agent }) }, { signal, key: null })
  const created = await create(named ?? firstAgent ?? undefined).catch((error: unknown) => {
    // A server with another configuration has other agents, and a default of its own.
    const isUnknown = error instanceof TielineError && error.code === 'agent_unknown'
    if (named !== undefined || firstAgent === null || !isUnknown) throw error
    return create(undefined)
  })
  return { session: created.sessionId, agent: created.agent, cwd: created.cwd }
}
