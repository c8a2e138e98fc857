import type { Health } from '../../wire/server.ts'
import { tielineClient, type TielineClient } from '../../client/client.ts'
import { ServerUnreachable, TielineError } from '../../client/tieline-error.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { OpenServer, OpenServerOptions } from '../../open-server.ts'
import { version } from '../../version.ts'
import { flagText, isSilent, UsageError, type CommandInput } from '../command.ts'
import { guardProcess } from './last-resort.ts'
import { leave } from './leave.ts'
import { patientFetch } from './patient-fetch.ts'
import { isPortFree, isPortTaken } from './port.ts'
import {
  emptiedWords,
  logState,
  findPlace,
  otherConfig,
  readServerFile,
  readToken,
  type Place,
  type ServerFile,
} from './place.ts'

export type Reached = {
  client: TielineClient
  /** It was named, so that nobody else may take its place. */
  remote: boolean
  /** The first agent of the configuration here: the one that is meant where none is named. */
  firstAgent: string | null
  /** The server runs in this process. */
  own: OpenServer | null
  /** Ends a server of our own, after the turns that still run in it, unless the user wants to leave. */
  close(): Promise<void>
}

type ReachInput = Pick<CommandInput, 'flags' | 'env' | 'err' | 'signal'>

/** How long the winner of a race may take to listen. */
const raceMs = 15_000
const lookAgainMs = 50

export async function reachServer(input: ReachInput): Promise<Reached> {
  const named = await namedServer(input)
  if (named !== null) return connected(named, true, null)
  const place = await findPlace(input)
  if (logState(place.dataDir) === 'emptied') input.err.write(`tieline: ${emptiedWords(place.dataDir)}\n`)
  for (const until = systemClock.elapsed() + raceMs; ; await systemClock.sleep(lookAgainMs, input.signal)) {
    const running = await runningServer(place)
    if (running !== null) {
      const other = otherConfig(place, running.file)
      if (other !== null && input.flags['quiet'] !== true)
        input.err.write(`tieline: ${other.says}. ${other.todo}\n`)
      return connected(running.client, false, firstAgent(place))
    }
    try {
      return await started(input, place)
    } catch (error) {
      if (!isLocked(error) || systemClock.elapsed() > until) throw error
    }
  }
}

/** A server that was there, and is not any more. */
export const hasGone = (error: unknown): boolean =>
  error instanceof ServerUnreachable || (error instanceof TielineError && error.code === 'unavailable')

const triesMax = 5

/** Does work that is safe to repeat; when the server goes away meanwhile, the next one is asked. */
export async function withServer<T>(input: ReachInput, work: (reached: Reached) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const reached = await reachServer(input)
    try {
      return await work(reached)
    } catch (error) {
      if (
        !hasGone(error) ||
        reached.remote ||
        reached.own !== null ||
        tries >= triesMax ||
        input.signal.aborted
      )
        throw error
    } finally {
      await reached.close()
    }
  }
}

/**
 * The server that owns a data directory, if one is there and answers. A file that a dead one left behind is
 * not believed.
 */
export async function runningServer(
  place: Pick<Place, 'dataDir' | 'token'>,
): Promise<{ client: TielineClient; health: Health; pid: number | null; file: ServerFile } | null> {
  const file = await readServerFile(place.dataDir)
  if (file === null || (file.pid !== null && !isAlive(file.pid))) return null
  const client = openClient(file.url, place.token ?? (await readToken(place.dataDir)))
  try {
    return { client, health: await client.health(), pid: file.pid, file }
  } catch (error) {
    if (error instanceof ServerUnreachable || error instanceof TielineError) return null
    throw error
  }
}

export const openClient = (url: string, token: string | null): TielineClient =>
  tielineClient({ url, token, name: `tieline-cli/${version}`, fetch: patientFetch })

const firstAgent = ({ config }: Place): string | null => config.agents[0]?.name ?? null

const connected = (client: TielineClient, remote: boolean, first: string | null): Reached => ({
  client,
  remote,
  firstAgent: first,
  own: null,
  close: async () => undefined,
})

/** The server that a flag or the environment names; null where none does. */
export async function namedServer(
  input: Pick<ReachInput, 'flags' | 'env' | 'signal'>,
): Promise<TielineClient | null> {
  const url = flagText(input.flags['server']) ?? input.env['TIELINE_SERVER'] ?? ''
  if (url === '' && input.flags['server'] === undefined) return null
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new UsageError(`--server: "${url}" was given, but a URL such as http://127.0.0.1:8283 is needed.`)
  const client = openClient(url, (input.env['TIELINE_TOKEN'] ?? '') || (await tokenOf(input, url)))
  await client.health({ signal: input.signal })
  return client
}

/** Somebody who names the server of this machine by its address need not name its token too. */
async function tokenOf(input: Pick<ReachInput, 'flags' | 'env'>, url: string): Promise<string | null> {
  const place = await findPlace(input).catch(() => null)
  const file = place === null ? null : await readServerFile(place.dataDir)
  return place !== null && file !== null && new URL(file.url).origin === new URL(url).origin
    ? readToken(place.dataDir)
    : null
}

async function started(input: ReachInput, place: Place): Promise<Reached> {
  const own = await startServer(
    {
      ...(place.file === null ? {} : { config: place.file }),
      dataDir: place.dataDir,
      onWarning: (text) => void input.err.write(`tieline: ${text}\n`),
    },
    place.config.server,
    (url) => {
      if (input.err.isTTY === true && !isSilent(input))
        input.err.write(`tieline: port ${place.config.server.port} is taken; this server listens on ${url}\n`)
    },
  )
  return {
    client: openClient(own.url, own.token),
    remote: false,
    firstAgent: firstAgent(place),
    own,
    close: () => leave(own, input),
  }
}

type ServerOptions = OpenServerOptions & Required<Pick<OpenServerOptions, 'onWarning'>>

/**
 * The process is a server from now on, whichever command it is: a fault that nobody caught ends it cleanly.
 */
export async function startServer(
  options: ServerOptions,
  usual: { host: string; port: number },
  onOtherPort: (url: string) => void,
): Promise<OpenServer> {
  const served = await listenSomewhere(options, usual, onOtherPort)
  const close = (): Promise<void> => served.close()
  const unguard = guardProcess({ log: (message, stack) => options.onWarning(`${message}: ${stack}`), close })
  return { ...served, close: () => close().finally(unguard) }
}

/** On its usual port, or on any that is free where somebody else has that one. */
async function listenSomewhere(
  options: OpenServerOptions,
  usual: { host: string; port: number },
  onOtherPort: (url: string) => void,
): Promise<OpenServer> {
  const { openServer } = await import('../../open-server.ts')
  const anyPort = async (): Promise<OpenServer> => {
    const served = await openServer({ ...options, port: 0 })
    onOtherPort(served.url)
    return served
  }
  // Asked before, because a server that cannot listen has opened the log for nothing.
  if (!(await isPortFree(usual))) return anyPort()
  return openServer({ ...options, host: usual.host, port: usual.port }).catch((error: unknown) => {
    if (!isPortTaken(error)) throw error
    return anyPort()
  })
}

/** Signal 0 is only asked about. A process of somebody else is alive too. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export const isLocked = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('is in use by another Tieline process')
