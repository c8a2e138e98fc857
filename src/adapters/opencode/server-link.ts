/**
 * The connection of one opencode directory to the server. It reconnects by itself; when the server is gone for
 * good, the next use looks for another, or starts one.
 */
import { faultMessage } from '../../model/contained.ts'
import { tielineClient, type TielineClient } from '../../client/client.ts'
import type { HostAsk, HostConnection, HostSession } from '../../client/host.ts'
import type { Surroundings } from '../../client/surroundings.ts'
import type { FoundServer } from './find-server.ts'

export type Link = { url: string; client: TielineClient; host: HostConnection }

export type LinkDeps = {
  find(start: boolean): Promise<FoundServer | null>
  /** What runs here, without its sessions. */
  ask: Omit<HostAsk, 'sessions' | 'onConnection' | 'onError'>
  /** Those that a new connection begins with. */
  sessions(): readonly HostSession[]
  surroundings: Surroundings
  report(text: string): void
}

export type ServerLink = {
  /** Connected and greeted. Throws with what is missing. */
  reach(): Promise<Link>
  current(): Link | null
  close(): void
}

const greetMsMax = 10_000
const lookAgainMs = 3000

export function serverLink(deps: LinkDeps): ServerLink {
  let link: Link | null = null
  let isOpen = false
  let reaching: Promise<Link> | null = null
  const closed = new AbortController()

  async function connect({ url, token }: FoundServer): Promise<Link> {
    link?.host.close()
    const { surroundings } = deps
    const client = tielineClient({ url, token, name: 'tieline-opencode', fetch: patient, surroundings })
    const { promise: refusal, reject: refuse } = Promise.withResolvers<never>()
    refusal.catch(() => undefined)
    const host = client.host({
      ...deps.ask,
      sessions: deps.sessions(),
      onConnection: ({ open }) => {
        if (link?.host !== host) return
        isOpen = open
        if (!open) void lookAgain(host)
      },
      onError: ({ message }) => {
        refuse(new Error(message))
        deps.report(message)
      },
    })
    link = { url, client, host }
    await Promise.race([host.ready, refusal, failLate(surroundings)])
    isOpen = true
    return link
  }

  /** A server that somebody started elsewhere is found by its file; none is started for nobody. */
  async function lookAgain(host: HostConnection): Promise<void> {
    await deps.surroundings.sleep(lookAgainMs, closed.signal)
    if (closed.signal.aborted || isOpen || link?.host !== host) return
    const found = await deps.find(false).catch(() => null)
    if (found !== null && found.url !== link.url)
      await connect(found).catch((error: unknown) => deps.report(faultMessage(error)))
  }

  async function find(): Promise<Link> {
    const found = await deps.find(true)
    if (found === null) throw new Error('there is no server')
    return link !== null && link.url === found.url && isOpen ? link : connect(found)
  }

  return {
    async reach() {
      if (link !== null && isOpen) return link
      reaching ??= find().finally(() => (reaching = null))
      return reaching
    },
    current: () => (isOpen ? link : null),
    close() {
      closed.abort()
      link?.host.close()
    },
  }
}

/** Bun gives up after five minutes, and a call may take longer. */
const patient = (url: string, init: RequestInit): Promise<Response> =>
  fetch(url, { ...init, timeout: false } as RequestInit)

async function failLate(surroundings: Surroundings): Promise<never> {
  await surroundings.sleep(greetMsMax)
  throw new Error('the server did not greet back')
}
