/** `tieline mcp`: an MCP server on standard input and output, for clients that start their servers themselves. */
import { surroundings } from '../../client/surroundings.ts'
import { version } from '../../version.ts'
import { printError, UsageError, type Command, type CommandInput } from '../command.ts'
import { startInBackground } from '../reach/background.ts'
import { findPlace, readToken, type Place } from '../reach/place.ts'
import { findNamedServer, findRunningServer } from '../reach/reach.ts'
import { poll } from '../reach/wait.ts'

export const mcp: Command = {
  name: 'mcp',
  words: [],
  help: 'Serves MCP on standard input and output; MCP clients start it',
  flags: {},
  more: `
It passes everything on to the server of your data directory. Where none runs, it starts one in the background
with your own configuration file (~/.config/tieline), not one that lies in the directory; --config or
TIELINE_CONFIG names another. That server outlives the client, and ends when it was not used for 30 minutes.
Its output goes to serve.log in the data directory. The tools are listed at once, before it has started.`,
  examples: [
    'tieline init                                  adds it to your MCP clients',
    'claude mcp add tieline -- tieline mcp         or do it by hand',
  ],
  async run(input: CommandInput): Promise<number> {
    // Loads the relay alone: some clients do not wait for a server that starts slowly.
    const { serveMcpStdio } = await import('../../adapters/mcp/serve-stdio.ts')
    await serveMcpStdio({
      running: () => findRunning(input),
      server: () => findServer(input),
      tools: () => listTools(input),
      version,
      cwd: process.cwd(),
      env: input.env,
      stdin: input.in ?? process.stdin,
      stdout: (input.out.raw ?? input.out) as unknown as NodeJS.WritableStream &
        Parameters<typeof serveMcpStdio>[0]['stdout'],
      signal: input.signal,
      surroundings,
      report: (text) => printError(input.err, text),
    })
    return 0
  },
}

/** How long a server in the background may take to listen. */
const startMsMax = 20_000

type Address = { url: string; token: string | null }

/** The server that was named, or the one of the data directory if it runs. */
async function findRunning(input: CommandInput): Promise<Address | null> {
  const named = await findNamedServer(input)
  if (named !== null) return { url: named.url, token: input.env['TIELINE_TOKEN'] ?? null }
  return findAt(await findPlace(input, { userOnly: true }))
}

async function findAt(place: Place): Promise<Address | null> {
  const running = await findRunningServer(place)
  if (running === null) return null
  return { url: running.client.url, token: place.token ?? (await readToken(place.dataDir)) }
}

async function findServer(input: CommandInput): Promise<Address> {
  const running = await findRunning(input)
  if (running !== null) return running
  const place = await findPlace(input, { userOnly: true })
  const log = await startInBackground(place)
  // Two clients may start one each: the second finds the directory locked and ends, and both use the first.
  const started = await poll(startMsMax, () => findAt(place), input.signal)
  if (started === null) throw new UsageError(`the server did not start: see ${log}`)
  return started
}

/** As the server that this would start lists them. */
async function listTools(input: CommandInput): Promise<readonly object[]> {
  const [{ listClientTools }, { config }] = await Promise.all([
    import('../../client-tools.ts'),
    findPlace(input, { userOnly: true }),
  ])
  return listClientTools(config)
}
