import type { CreatedSession } from '../../wire/sessions.ts'
import type { TielineClient } from '../../client/client.ts'
import { TielineError } from '../../client/tieline-error.ts'
import { readAwayMsMax } from '../reach/connection.ts'
import { flagText, isSilent, UsageError, wantsColour, wantsLive, type CommandInput } from '../command.ts'
import { readCwd } from '../flags.ts'
import type { Lines } from './prompt.ts'
import { personHere } from './question.ts'
import { hasGone, reachServer, type Reached } from '../reach/reach.ts'
import type { Tree } from '../show/tree.ts'
import {
  newMessageId,
  openWatch,
  sending,
  type AskPerson,
  type Watch,
  type WatchOptions,
  type Work,
  type WorkResult,
} from '../show/watch.ts'

export type Conversation = {
  session: string
  agent: string
  cwd: string
  client: () => TielineClient
  /** Comes back when the turn has ended; cancels it when `signal` aborts. */
  send(text: string, timeoutMs: number | null, signal: AbortSignal): Promise<WorkResult>
  /** The same for a message that waits to be accepted. */
  accept(message: string, signal: AbortSignal): Promise<WorkResult>
  /** Prints a text, above what is drawn where something is. */
  note(text: string): void
  /** What the last message caused. */
  tree(): Tree
  close(): Promise<void>
}

/** Where the work is shown; `conversation` keeps calls as lines and takes the tree away. */
export type Showing = {
  out: CommandInput['out']
  conversation: boolean
  /** Where somebody types meanwhile. */
  lines?: Pick<Lines, 'typed' | 'aside'>
}

/** Servers may go one after the other, when many commands end together. */
const triesMax = 5

export async function openConversation(input: CommandInput, showing: Showing): Promise<Conversation> {
  let { reached, watch, ...place } = await opened(input, showing)
  const { session } = place
  const followed = async (work: () => Work, signal: AbortSignal): Promise<WorkResult> => {
    const after = watch.cursor()
    for (let tries = 1; ; tries += 1) {
      try {
        if (tries > 1) await again(after)
        return await watch.shown(() => watch.follow(work(), signal))
      } catch (error) {
        if (!hasGone(error) || reached.remote || tries >= triesMax || signal.aborted) throw error
      }
    }
  }
  /**
   * The server belonged to another command that has ended. This one can be the owner as well; a message keeps
   * its id, so that it has one effect.
   */
  const again = async (after: string | null): Promise<void> => {
    await watch.close()
    await reached.close()
    reached = await reachServer(input)
    watch = await openWatch(reached.client, { ...watchOptions(input, reached, showing), after })
  }
  return {
    ...place,
    client: () => reached.client,
    note: (text) => (isSilent(input) ? void showing.out.write(`${text}\n`) : watch.note(text)),
    tree: () => watch.tree(),
    send(text, timeoutMs, signal) {
      const id = newMessageId()
      return followed(() => ({ ...sending(reached.client, session, text, id), timeoutMs }), signal)
    },
    accept(message, signal) {
      const key = newMessageId()
      return followed(
        () => ({
          session,
          message,
          start: (until) => reached.client.mail.accept(session, message, { signal: until, key }),
        }),
        signal,
      )
    },
    async close() {
      await watch.close()
      await reached.close()
    },
  }
}

/** The server may go between two requests, because it belonged to a command that is just ending. */
async function opened(
  input: CommandInput,
  showing: Showing,
): Promise<Pick<Conversation, 'session' | 'agent' | 'cwd'> & { reached: Reached; watch: Watch }> {
  for (let tries = 1; ; tries += 1) {
    const reached = await reachServer(input)
    try {
      const place = await sessionFor(reached, input)
      return {
        ...place,
        reached,
        watch: await openWatch(reached.client, watchOptions(input, reached, showing)),
      }
    } catch (error) {
      await reached.close()
      if (
        !hasGone(error) ||
        reached.remote ||
        reached.own !== null ||
        tries >= triesMax ||
        input.signal.aborted
      )
        throw error
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
  askPerson: askedAside(personHere(input), lines),
  awayMsMax: readAwayMsMax(reached),
})

/** Who types while an agent works has the terminal; a question takes it for a while. */
const askedAside = (ask: AskPerson | undefined, lines: Showing['lines']): AskPerson | undefined =>
  ask === undefined || lines === undefined
    ? ask
    : (question, signal) => lines.aside(() => ask(question, signal))

/** The session that was named, or a new one in the directory of the user. */
async function sessionFor(
  reached: Reached,
  { flags, env, signal }: Pick<CommandInput, 'flags' | 'env' | 'signal'>,
): Promise<Pick<Conversation, 'session' | 'agent' | 'cwd'>> {
  const named = flagText(flags['session'])
  const [agent, cwd] = [flagText(flags['agent']), flagText(flags['cwd'])]
  if (named === undefined) return newSession(reached, readCwd({ flags, env }), agent, signal)
  if (agent !== undefined || cwd !== undefined)
    throw new UsageError(
      '--session goes on with a session that has its agent and its directory already: leave out --agent and --cwd.',
    )
  const found = await reached.client.sessions.get(named, { signal })
  return { session: found.id, agent: found.agentName, cwd: found.cwd }
}

async function newSession(
  { client, firstAgent }: Reached,
  cwd: string,
  named: string | undefined,
  signal: AbortSignal,
): Promise<Pick<Conversation, 'session' | 'agent' | 'cwd'>> {
  // Without a key: ids that the server makes are shorter, and a session too many, should the connection break
  // here, costs nothing.
  const create = (agent: string | undefined): Promise<CreatedSession> =>
    client.sessions.create({ cwd, ...(agent === undefined ? {} : { agent }) }, { signal, key: null })
  const created = await create(named ?? firstAgent ?? undefined).catch((error: unknown) => {
    // A server that runs with another configuration has other agents, and a first one of its own.
    if (
      named !== undefined ||
      firstAgent === null ||
      !(error instanceof TielineError) ||
      error.code !== 'agent_unknown'
    )
      throw error
    return create(undefined)
  })
  return { session: created.sessionId, agent: created.agent, cwd: created.cwd }
}
