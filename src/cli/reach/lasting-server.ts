/** A server that outlives the command that asks for it: the one that runs, or one started in the background. */
import { UsageError, type CommandInput } from '../command.ts'
import { startInBackground } from './background.ts'
import { findPlace, readToken, type Place } from './place.ts'
import { findNamedServer, findRunningServer } from './reach.ts'
import { poll } from './wait.ts'

/** How long a server in the background may take to listen. */
const startMsMax = 20_000

export type ServerAddress = { url: string; token: string | null }
type LastingInput = Pick<CommandInput, 'flags' | 'env' | 'signal'>

/** The server that was named, or the one of the data directory if it runs. */
export async function findLasting(input: LastingInput): Promise<ServerAddress | null> {
  return (await findNamed(input)) ?? findAt(await findPlace(input, { userOnly: true }))
}

/** For what runs without a person who looks: a file that lies in the directory does not count. */
export async function reachLasting(input: LastingInput): Promise<ServerAddress> {
  return (await findNamed(input)) ?? startAt(input, await findPlace(input, { userOnly: true }))
}

/**
 * For a person's command: in the data directory that all commands use here. The server has the user's own file all
 * the same, and finds the agents of a project by the directory of the caller.
 */
export async function reachLastingHere(input: LastingInput): Promise<ServerAddress> {
  const named = await findNamed(input)
  if (named !== null) return named
  const [here, own] = [await findPlace(input), await findPlace(input, { userOnly: true })]
  return startAt(input, { ...own, dataDir: here.dataDir, token: here.token })
}

async function findNamed(input: LastingInput): Promise<ServerAddress | null> {
  const named = await findNamedServer(input)
  return named === null ? null : { url: named.url, token: input.env['TIELINE_TOKEN'] ?? null }
}

async function findAt(place: Place): Promise<ServerAddress | null> {
  const running = await findRunningServer(place)
  if (running === null) return null
  return { url: running.client.url, token: place.token ?? (await readToken(place.dataDir)) }
}

async function startAt(input: LastingInput, place: Place): Promise<ServerAddress> {
  const running = await findAt(place)
  if (running !== null) return running
  const log = await startInBackground(place)
  // Two clients may start one each: the second finds the directory locked and ends, and both use the first.
  const started = await poll(startMsMax, () => findAt(place), input.signal)
  if (started === null) throw new UsageError(`the server did not start: see ${log}`)
  return started
}
