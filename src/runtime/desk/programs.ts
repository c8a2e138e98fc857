/**
 * Programs that the user has open: they register their sessions, and are told of their mail. Nobody but the
 * user's own programs may ask: neither the token of a session nor that of a turn.
 */
import type { ClientProgram } from '../../model/client-address.ts'
import { userSession } from '../../model/mail.ts'
import type { Refusal } from '../../model/refusal.ts'
import { nameText } from '../../model/request-name.ts'
import { quietMsMax, type Moment } from '../../model/wake.ts'
import type { NewQuiet, Quiet, SessionNews } from '../../wire/hooks.ts'
import { findAgent } from '../kernel/projects-port.ts'
import type { Presence } from '../kernel/runtime.ts'
import { announceMail, type Announced } from '../mail/announce.ts'
import { awaitNews, type News } from '../mail/await-news.ts'
import { closeClient, hear, openClient } from '../mail/presence.ts'
import { userDesk } from '../mail/user-session.ts'
import { renameSession } from '../sessions/sessions.ts'
import { andThen, onlyUser, type Asker } from './asker.ts'
import { placeClient, refusePlace, type ClientPlace } from './client-session.ts'
import type { Gate } from './gate.ts'
import type { DeskParts } from './parts.ts'

export type ProgramDesk = {
  /**
   * Tells a program what waits for it, if something is to be said at this moment; it is registered too.
   * `prompt` is what the user has just asked for: the session is named after the first.
   */
  announce(client: ClientProgram, moment: Moment, prompt?: string | null): Promise<Announced | Refusal>
  /** The program has closed the session. Its mail waits until it is opened again. */
  close(client: ClientProgram, cause: string): Promise<Announced | Refusal>
  /** What a program does now, where it does not ask for its mail itself. */
  hear(client: ClientProgram, state: 'working' | 'idle', title: string): Promise<Announced | Refusal>
  /** Waits until there is a reason to start the session, which rests; `busy`: or to tell it while it works. */
  await(client: ClientProgram, how: { ms: number; busy: boolean }): Promise<News | Refusal>
  /** The same for a session that a connected program runs, by its id here. */
  tell(id: string, moment: Moment): Promise<SessionNews | Refusal>
  awaitFor(id: string, ms: number): Promise<SessionNews | Refusal>
  /** What is quiet at the moment. */
  quiet(): Promise<Quiet | Refusal>
  setQuiet(ask: NewQuiet): Promise<Quiet | Refusal>
}

const nothingAnnounced: Announced = { text: '', woken: false }
const quietShownMax = 200

export function programDesk(parts: DeskParts, asker: Asker, gate: Gate): ProgramDesk {
  const { runtime, cwd } = parts
  const admitted = async <T>(
    client: ClientProgram,
    act: (place: ClientPlace) => Promise<T | Refusal>,
  ): Promise<T | Refusal> =>
    onlyUser(asker.who, 'speak for a program that the user has open') ??
    (await refusePlace({ ...client, seenIn: asker.client?.seenIn })) ??
    act(await placeClient(runtime, client, cwd))
  const hosted = (id: string, act: HostedAct): Promise<SessionNews | Refusal> =>
    findHosted(parts, asker, gate, id, act)
  return {
    announce: (client, moment, prompt = null) =>
      admitted(client, async (place) => {
        // Side by side: the program waits for both, and they are one wait for the disk.
        const [present] = await Promise.all([
          openClient(runtime, place.session, client.name),
          prompt === null ? null : nameAfter(parts, place, prompt),
        ])
        const said = await announceMail(runtime, place, moment)
        hear(runtime, present, moment, said !== null)
        return said ?? nothingAnnounced
      }),
    close: (client, cause) =>
      admitted(client, async ({ session }) => {
        await closeClient(runtime, session, cause)
        return nothingAnnounced
      }),
    hear: (client, state, title) =>
      admitted(client, async (place) => {
        const present = await openClient(runtime, place.session, client.name)
        if (title !== '') await nameAfter(parts, place, title)
        hear(runtime, present, state === 'idle' ? 'resting' : 'used', false)
        return nothingAnnounced
      }),
    await: (client, how) =>
      admitted(client, async (place) => {
        const present = await openClient(runtime, place.session, client.name)
        return awaitNews(runtime, place, present, { ...how, signal: asker.signal })
      }),
    tell: (id, moment) =>
      hosted(id, async (place, present) => {
        const said = await announceMail(runtime, place, moment)
        hear(runtime, present, moment, said !== null)
        return { text: said?.text ?? '', status: said === null ? 'nothing' : 'told' }
      }),
    awaitFor: (id, ms) =>
      hosted(id, async (place, present) => {
        const news = await awaitNews(runtime, place, present, { ms, busy: false, signal: asker.signal })
        return { text: news.text, status: news.status }
      }),
    quiet: async () => onlyUser(asker.who, 'see what is quiet') ?? readQuiet(parts),
    async setQuiet({ session, ms }) {
      const refusal = onlyUser(asker.who, 'hold mail back')
      if (refusal !== null) return refusal
      if (session !== undefined) return andThen(gate.find(session), (row) => holdBack(parts, row.id, ms))
      await userDesk(runtime)
      return holdBack(parts, userSession, ms)
    },
  }
}

type HostedAct = (place: ClientPlace, present: Presence) => Promise<SessionNews>

/** A session that a connected program runs. */
async function findHosted(
  { runtime }: DeskParts,
  asker: Asker,
  gate: Gate,
  id: string,
  act: HostedAct,
): Promise<SessionNews | Refusal> {
  const refusal = onlyUser(asker.who, 'speak for a program that the user has open')
  if (refusal !== null) return refusal
  return andThen(gate.find(id), async (row) => {
    if (row.kind !== 'persistent' || findAgent(runtime, row)?.driver !== 'host')
      return {
        code: 'not_allowed',
        agent: 'A connected program',
        what: `tell session ${row.id} of its mail`,
        allowed: ['sessions that it runs'],
      }
    return act({ session: row.id, inbox: null }, await openClient(runtime, row.id, row.agent))
  })
}

/** Until its first prompt it has only its name. */
async function nameAfter(
  { runtime }: DeskParts,
  { session, inbox }: ClientPlace,
  prompt: string,
): Promise<void> {
  const title = nameText(prompt)
  const row = session === inbox || title === '' ? null : await runtime.store.session(session)
  if (row !== null && row.title === session.slice(11)) await renameSession(runtime, session, title)
}

async function holdBack(parts: DeskParts, session: typeof userSession, ms: number): Promise<Quiet> {
  await parts.runtime.store.transact([`session:${session}`], async (tx) => {
    const until = ms === 0 ? 0 : tx.now + Math.min(ms, quietMsMax)
    const { quietUntil } = await tx.client(session)
    if (Math.ceil(until) !== quietUntil) tx.append({ type: 'session.quieted', session, turn: null, until })
  })
  return readQuiet(parts)
}

async function readQuiet({ runtime }: DeskParts): Promise<Quiet> {
  const rows = await runtime.lists.quiet(runtime.clock.now(), quietShownMax)
  return {
    all: rows.find(({ session }) => session === userSession)?.until ?? null,
    sessions: rows.filter(({ session }) => session !== userSession),
  }
}
