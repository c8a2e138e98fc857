/**
 * Which programs are connected, and which sessions they run. In memory: a program that comes back says
 * `hello` again.
 */
import type { SessionId, TurnId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import type { ToolAnswer } from '../../runtime/kernel/ports.ts'
import type { ToHost } from '../../wire/host.ts'

/** Where programs connect. */
export const hostSocketPath = '/ws/host'

export type HostAnswer = {
  output: string
  error: string | null
  usage: { input: number; output: number; costUsd?: number | undefined } | null
}

/** A turn that a connected program runs: what the driver wants to hear. */
export type HostedTurn = {
  session: SessionId
  frame: (own: string) => ToHost
  answer(answer: HostAnswer): void
  say(text: string): void
  tool(name: string, input: Json): Promise<ToolAnswer>
  onLost(): void
}

/** One connected program. `sessions` has its own ids by ours; `place` is for which agent it makes sessions. */
export type Host = {
  send(frame: ToHost): void
  sessions: Map<SessionId, string>
  place?: { agent: string; cwd: string }
}

/** A session that was made here, for a program to make its own of; `from` is the one that it goes on from. */
export type Wanted = {
  session: SessionId
  agent: string
  cwd: string
  title: string
  from: { session: SessionId; back: number } | null
}

export type HostHub = {
  /** Whether somebody is there to run a turn of this session. */
  isThere(session: SessionId): boolean
  /** From now on it runs this session; as a spare, only while nobody else is there who does. */
  attach(host: Host, session: SessionId, own: string, spare?: boolean): void
  detach(host: Host): void
  drop(host: Host, session: SessionId): void
  /** Gives a turn to the program that runs its session, now or when it is back. The result ends that. */
  begin(turn: TurnId, hosted: HostedTurn): () => void
  cancel(turn: TurnId, cause: string): void
  turn(host: Host, turn: string): HostedTurn | null
  /** Called for every session that has a program now. */
  onAttached(listener: (session: SessionId) => void): void
  /** A program that makes sessions when asked is there. */
  join(host: Host): void
  onJoined(listener: () => void): void
  /** Asks a program of that agent and directory, once; for a fork, one that has its conversation. */
  want(wanted: Wanted): void
  /** It could not make what it was asked for: the next one is asked. */
  cannot(host: Host, session: SessionId, why: string): void
  /** A program was asked; `late` is called when that has taken too long. */
  onAsked(listener: (late: (why: string) => void) => void): void
  /** All that could be asked have failed. */
  onHopeless(listener: (session: SessionId, why: string) => void): void
}

export function hostHub(): HostHub {
  const hosts = new Map<SessionId, Host>()
  const turns = new Map<TurnId, HostedTurn>()
  const listeners = new Set<(session: SessionId) => void>()
  const known = new Set<Host>()
  const { onBrought, onLeft, ...wanting } = createWanting((session) => hosts.has(session))
  const give = (turn: HostedTurn): boolean => {
    const host = hosts.get(turn.session)
    const own = host?.sessions.get(turn.session)
    if (host === undefined || own === undefined) return false
    host.send(turn.frame(own))
    return true
  }
  const take = (host: Host, session: SessionId): void => {
    hosts.set(session, host)
    onBrought(session)
    for (const turn of turns.values()) if (turn.session === session) give(turn)
    for (const notify of listeners) notify(session)
  }
  const release = (session: SessionId, gone: Host): void => {
    const spare = [...known].find((host) => host !== gone && host.sessions.has(session))
    if (spare !== undefined) return take(spare, session)
    hosts.delete(session)
    for (const turn of turns.values()) if (turn.session === session) turn.onLost()
  }
  return {
    isThere: (session) => hosts.has(session),
    attach(host, session, own, spare = false) {
      known.add(host)
      host.sessions.set(session, own)
      if (!spare || !hosts.has(session)) take(host, session)
    },
    detach(host) {
      known.delete(host)
      for (const session of host.sessions.keys()) if (hosts.get(session) === host) release(session, host)
      host.sessions.clear()
      onLeft(host)
    },
    drop(host, session) {
      if (hosts.get(session) === host) release(session, host)
      host.sessions.delete(session)
    },
    begin(turn, hosted) {
      turns.set(turn, hosted)
      if (!give(hosted)) hosted.onLost()
      return () => void turns.delete(turn)
    },
    cancel(turn, cause) {
      const hosted = turns.get(turn)
      if (hosted !== undefined) hosts.get(hosted.session)?.send({ type: 'cancel', turn, cause })
    },
    /** A program speaks only for sessions that it runs. */
    turn(host, turn) {
      const hosted = turns.get(turn as TurnId)
      return hosted !== undefined && hosts.get(hosted.session) === host ? hosted : null
    },
    onAttached: (listener) => void listeners.add(listener),
    ...wanting,
  }
}

type Asked = { wanted: Wanted; host: Host; /** Those that could not. */ failed: Set<Host> }
type Wanting = Pick<HostHub, 'join' | 'onJoined' | 'want' | 'cannot' | 'onAsked' | 'onHopeless'> & {
  onBrought: (session: SessionId) => void
  onLeft: (host: Host) => void
}

/** Programs that make sessions when asked, and which of them was asked for what. */
function createWanting(isThere: (session: SessionId) => boolean): Wanting {
  const joined = new Set<Host>()
  const listeners = {
    joined: new Set<() => void>(),
    asked: new Set<(late: (why: string) => void) => void>(),
    hopeless: new Set<(session: SessionId, why: string) => void>(),
  }
  /** Who was asked for a session, and has not brought it yet. */
  const asked = new Map<SessionId, Asked>()
  const ask = (wanted: Wanted, failed: Set<Host>): boolean => {
    const { session, agent, cwd, title, from } = wanted
    const host = [...joined].find(
      (one) =>
        !failed.has(one) &&
        one.place?.agent === agent &&
        one.place.cwd === cwd &&
        (from === null || one.sessions.has(from.session)),
    )
    if (host === undefined) return false
    const own = from === null ? undefined : host.sessions.get(from.session)
    const entry: Asked = { wanted, host, failed }
    asked.set(session, entry)
    const fork = from === null || own === undefined ? null : { id: own, back: from.back }
    host.send({ type: 'open', sessionId: session, cwd, title, fork })
    for (const notify of listeners.asked)
      notify((why) => void (asked.get(session) === entry && giveUp(entry, why)))
    return true
  }
  const giveUp = ({ wanted, host, failed }: Asked, why: string): void => {
    asked.delete(wanted.session)
    if (!ask(wanted, failed.add(host))) for (const notify of listeners.hopeless) notify(wanted.session, why)
  }
  return {
    onBrought: (session) => void asked.delete(session),
    onLeft(host) {
      joined.delete(host)
      // Nobody else there: the next program that joins is asked.
      for (const [session, { wanted, host: other, failed }] of asked)
        if (other === host && asked.delete(session)) ask(wanted, failed)
    },
    join(host) {
      joined.add(host)
      for (const notify of listeners.joined) notify()
    },
    onJoined: (listener) => void listeners.joined.add(listener),
    onAsked: (listener) => void listeners.asked.add(listener),
    onHopeless: (listener) => void listeners.hopeless.add(listener),
    want: (wanted) => void (isThere(wanted.session) || asked.has(wanted.session) || ask(wanted, new Set())),
    cannot(host, session, why) {
      const entry = asked.get(session)
      if (entry?.host === host) giveUp(entry, why)
    },
  }
}
