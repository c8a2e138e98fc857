/** `tieline mcp`: an MCP server on standard input and output, for clients that start their servers themselves. */
import { surroundings } from '../../client/surroundings.ts'
import { version } from '../../version.ts'
import { printError, type Command, type CommandInput } from '../command.ts'
import { findLasting, reachLasting } from '../reach/lasting-server.ts'
import { findPlace } from '../reach/place.ts'
import { findReadyTools } from '../ready-tools.ts'

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
      running: () => findLasting(input),
      server: () => reachLasting(input),
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

/** As the server that this would start lists them. */
async function listTools(input: CommandInput): Promise<readonly object[]> {
  const { config } = await findPlace(input, { userOnly: true })
  const ready = findReadyTools(config, import.meta.dirname)
  if (ready !== null) return ready
  const { listClientTools } = await import('../../client-tools.ts')
  return listClientTools(config)
}
