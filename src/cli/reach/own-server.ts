/** A server that a command runs in its own process: how it starts, and when it may end. */
import { createServer } from 'node:net'
import { isRefusal } from '../../model/refusal.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { OpenServer, OpenServerOptions } from '../../open-server.ts'
import { isSilent, printError, type CommandInput } from '../command.ts'
import { formatTimeLeft } from '../show/amounts.ts'
import { oneLine } from '../show/width.ts'
import { guardProcess } from './last-resort.ts'
import { patientFetch } from './patient-fetch.ts'

type Address = { host: string; port: number }
type ServerOptions = OpenServerOptions & Required<Pick<OpenServerOptions, 'onWarning'>>

/** From now on the process is a server, whichever command it is: an uncaught fault ends it cleanly. */
export async function startServer(
  options: ServerOptions,
  usual: Address,
  onOtherPort: (url: string) => void,
): Promise<OpenServer> {
  const served = await listenSomewhere(options, usual, onOtherPort)
  const close = (): Promise<void> => served.close()
  const unguard = guardProcess({ log: (message, stack) => options.onWarning(`${message}: ${stack}`), close })
  return { ...served, close: () => close().finally(unguard) }
}

/** Listens on the usual port, or on any free one where that is taken. */
async function listenSomewhere(
  options: OpenServerOptions,
  usual: Address,
  onOtherPort: (url: string) => void,
): Promise<OpenServer> {
  const { openServer } = await import('../../open-server.ts')
  const listenAnywhere = async (): Promise<OpenServer> => {
    const served = await openServer({ ...options, port: 0 })
    onOtherPort(served.url)
    return served
  }
  // Checked first, because a server that cannot listen has opened the log for nothing.
  if (!(await isPortFree(usual))) return listenAnywhere()
  return openServer({ ...options, host: usual.host, port: usual.port }).catch((error: unknown) => {
    if (!isPortTaken(error)) throw error
    return listenAnywhere()
  })
}

export const isPortTaken = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === 'EADDRINUSE'

/** Ignores other faults, such as an address that this machine does not have: they show when it listens. */
export function isPortFree({ host, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve(!isPortTaken(error)))
    server.listen({ host, port }, () => server.close(() => resolve(true)))
  })
}

/** How long a client that only watches is waited for: it finds the next server, or becomes it. */
const unusedMsMax = 3000
const pollMs = 20

type CloseInput = Pick<CommandInput, 'flags' | 'err' | 'signal'>

/**
 * Waits for the turns of other commands that have connected meanwhile, and for those that an earlier process
 * left, so that they are not cut off. Ctrl-C ends the wait.
 */
export async function closeWhenUnused(own: OpenServer, input: CloseInput): Promise<void> {
  const { signal } = input
  let unusedSince = systemClock.elapsed()
  while (!signal.aborted) {
    if (own.line.running() > 0) {
      await waitUntilIdle(own, input)
      unusedSince = systemClock.elapsed()
    }
    if (systemClock.elapsed() - unusedSince > unusedMsMax || (await countListeners(own)) === 0) break
    await systemClock.sleep(pollMs, signal).catch(() => undefined)
  }
  await own.close()
}

async function waitUntilIdle({ line }: OpenServer, input: CloseInput): Promise<void> {
  const { err, signal } = input
  if (!isSilent(input)) printError(err, describeWait(await listWorking(line), line.running()))
  const aborted = Promise.withResolvers<void>()
  const stop = (): void => aborted.resolve()
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  await Promise.race([line.idle(), aborted.promise])
  signal.removeEventListener('abort', stop)
}

type Working = { agent: string; session: string; leftMs: number }

const namedMax = 3

/** Leaves out the sessions of calls: their callers are named. */
async function listWorking(line: OpenServer['line']): Promise<Working[]> {
  const listed = await line.desks.as({}).sessions.list({ active: true, limit: namedMax })
  const sessions = isRefusal(listed) ? [] : listed.sessions
  const turns = await Promise.all(sessions.map(({ id }) => line.store.sessionFacts(id)))
  return turns.flatMap(({ running }) => {
    if (running === null) return []
    const { grant, session, deadline } = running
    return [{ agent: grant.agent, session, leftMs: deadline - systemClock.now() }]
  })
}

/** Who is still working, how long that may take, and how to end it or to leave it. */
export function describeWait(working: readonly Working[], count: number): string {
  const unnamed = count === 1 ? 'a turn still runs' : `${count} turns still run`
  const named = working.map(
    ({ agent, session, leftMs }) => `${oneLine(agent)} still works in ${session} (${formatTimeLeft(leftMs)})`,
  )
  const [first] = working
  return (
    `${named.join(', ') || unnamed}, begun by another command or left by an earlier one; ` +
    'this server waits for it. Ctrl-C leaves it, and the next server goes on with it' +
    `${first === undefined ? '' : `; "tieline cancel ${first.session}" ends it`}.`
  )
}

/** Every command listens to the events of its server, so a listener may be about to ask for something. */
async function countListeners({ url, token }: OpenServer): Promise<number> {
  try {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` }
    const answer = await patientFetch(`${url}/metrics`, { headers })
    return Number(/^tieline_websocket_clients (\d+)$/m.exec(await answer.text())?.[1] ?? 0)
  } catch {
    return 0
  }
}
