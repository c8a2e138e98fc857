/** Finds the server that a command works with: the one that was named, a running one, or one of its own. */
import type { Health } from '../../wire/server.ts'
import { tielineClient, type TielineClient } from '../../client/client.ts'
import { ServerUnreachable, TielineError } from '../../client/tieline-error.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { OpenServer } from '../../open-server.ts'
import { version } from '../../version.ts'
import { flagText, isSilent, printError, type CommandInput } from '../command.ts'
import { readUrl } from '../flags.ts'
import { closeWhenUnused, startServer } from './own-server.ts'
import { patientFetch } from './patient-fetch.ts'
import {
  compareConfig,
  describeEmptied,
  findPlace,
  logState,
  readServerFile,
  readToken,
  type Place,
  type ServerFile,
} from './place.ts'

export type Reached = {
  client: TielineClient
  /** The user named this server, so that no other may replace it. */
  remote: boolean
  /** The first agent of the configuration here, which is the default. */
  firstAgent: string | null
  /** The server runs in this process. */
  own: OpenServer | null
  /** Ends a server of our own, after the turns that still run in it, unless the user interrupts. */
  close(): Promise<void>
}

type ReachInput = Pick<CommandInput, 'flags' | 'env' | 'in' | 'err' | 'signal'>

/** How long the winner of a race may take to listen. */
const raceMs = 15_000

export async function reachServer(input: ReachInput): Promise<Reached> {
  const named = await findNamedServer(input)
  const close = async (): Promise<void> => undefined
  if (named !== null) return { client: named, remote: true, firstAgent: null, own: null, close }
  const place = await findPlace(input)
  if (logState(place.dataDir) === 'emptied') printError(input.err, describeEmptied(place.dataDir))
  return retryWhileLocked(
    raceMs,
    async () => {
      const running = await findRunningServer(place)
      if (running === null) return startOwnServer(input, place)
      const other = compareConfig(place, running.file)
      if (other !== null && input.flags['quiet'] !== true)
        printError(input.err, `${other.says}. ${other.todo}`)
      return { client: running.client, remote: false, firstAgent: readFirstAgent(place), own: null, close }
    },
    input.signal,
  )
}

const retryMs = 50

/** Tries again for a while when another process has locked the data directory. */
export async function retryWhileLocked<T>(
  msMax: number,
  attempt: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (const until = systemClock.elapsed() + msMax; ; await systemClock.sleep(retryMs, signal)) {
    try {
      return await attempt()
    } catch (error) {
      if (!isLocked(error) || systemClock.elapsed() > until) throw error
    }
  }
}

export const isLocked = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('is in use by another Tieline process')

/** Servers may end one after the other, when many commands end together. */
export const triesMax = 5

/**
 * Whether another server may take over: this one has gone, was not named, and belonged to a command that has
 * ended.
 */
export const mayTakeOver = (
  error: unknown,
  { remote }: Pick<Reached, 'remote'>,
  tries: number,
  signal: AbortSignal,
): boolean =>
  (error instanceof ServerUnreachable || (error instanceof TielineError && error.code === 'unavailable')) &&
  !remote &&
  tries < triesMax &&
  !signal.aborted

/** Does work that is safe to repeat: when the server goes away, the next one is asked. */
export async function withServer<T>(input: ReachInput, work: (reached: Reached) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const reached = await reachServer(input)
    try {
      return await work(reached)
    } catch (error) {
      if (reached.own !== null || !mayTakeOver(error, reached, tries, input.signal)) throw error
    } finally {
      await reached.close()
    }
  }
}

export type RunningServer = { client: TielineClient; health: Health; pid: number | null; file: ServerFile }

/** The server that owns a data directory, if it answers. A dead one may have left its file behind. */
export async function findRunningServer({
  dataDir,
  token,
}: Pick<Place, 'dataDir' | 'token'>): Promise<RunningServer | null> {
  const file = await readServerFile(dataDir)
  if (file === null || (file.pid !== null && !isAlive(file.pid))) return null
  const client = openClient(file.url, token ?? (await readToken(dataDir)))
  try {
    return { client, health: await client.health(), pid: file.pid, file }
  } catch (error) {
    if (error instanceof ServerUnreachable || error instanceof TielineError) return null
    throw error
  }
}

export const openClient = (url: string, token: string | null): TielineClient =>
  tielineClient({
    url,
    token,
    name: `tieline-cli/${version}`,
    cwd: process.cwd(),
    fetch: patientFetch,
  })

/** Where the file here is not used, its first agent is meant all the same, and the server says why not. */
const readFirstAgent = ({ config, untrusted }: Place): string | null =>
  untrusted?.agents[0] ?? config.agents[0]?.name ?? null

/** The server that a flag or the environment names, or null. */
export async function findNamedServer({
  flags,
  env,
  signal,
}: Pick<ReachInput, 'flags' | 'env' | 'signal'>): Promise<TielineClient | null> {
  const named = flagText(flags['server']) ?? env['TIELINE_SERVER'] ?? ''
  if (named === '' && flags['server'] === undefined) return null
  const url = readUrl(named)
  const client = openClient(url, (env['TIELINE_TOKEN'] ?? '') || (await findToken({ flags, env }, url)))
  await client.health({ signal })
  return client
}

/** For the server of this machine the address is enough: its token is in the data directory. */
async function findToken(input: Pick<ReachInput, 'flags' | 'env'>, url: string): Promise<string | null> {
  const place = await findPlace({ flags: input.flags, env: input.env }).catch(() => null)
  const file = place === null ? null : await readServerFile(place.dataDir)
  return place !== null && file !== null && new URL(file.url).origin === new URL(url).origin
    ? readToken(place.dataDir)
    : null
}

async function startOwnServer(input: ReachInput, place: Place): Promise<Reached> {
  const { dataDir, config } = place
  const onWarning = (text: string): void => printError(input.err, text)
  const options = { loaded: place, dataDir, onWarning }
  const own = await startServer(options, config.server, (url) => {
    if (input.err.isTTY === true && !isSilent(input))
      printError(input.err, `port ${config.server.port} is taken; this server listens on ${url}`)
  })
  return {
    client: openClient(own.url, own.token),
    remote: false,
    firstAgent: readFirstAgent(place),
    own,
    close: () => closeWhenUnused(own, input),
  }
}

/** Signal 0 only asks. A process of another user is alive too. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
