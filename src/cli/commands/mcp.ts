/** `tieline mcp`: an MCP server on standard input and output, for clients that start their servers themselves. */
import { spawn } from 'node:child_process'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { surroundings } from '../../client/surroundings.ts'
import { version } from '../../version.ts'
import { flagText, printError, UsageError, type Command, type CommandInput } from '../command.ts'
import { isPortFree } from '../reach/own-server.ts'
import { findPlace, readToken, type Place } from '../reach/place.ts'
import { findNamedServer, findRunningServer } from '../reach/reach.ts'
import { poll } from '../reach/wait.ts'

export const mcp: Command = {
  name: 'mcp',
  words: [],
  help: 'Serves MCP on standard input and output; MCP clients start it',
  flags: {},
  more: `
It passes everything on to the server of the data directory. Where none runs, it starts one in the background,
because a client may end at any time; its output goes to serve.log there. It ends when its input ends.`,
  examples: [
    'tieline init                                  adds it to your MCP clients',
    'claude mcp add tieline -- tieline mcp         or do it by hand',
  ],
  async run(input: CommandInput): Promise<number> {
    // Loads the relay alone: some clients do not wait for a server that starts slowly.
    const { serveMcpStdio } = await import('../../adapters/mcp/serve-stdio.ts')
    await serveMcpStdio({
      server: () => findServer(input),
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

async function findServer(input: CommandInput): Promise<{ url: string; token: string | null }> {
  const named = await findNamedServer(input)
  if (named !== null) return { url: named.url, token: input.env['TIELINE_TOKEN'] ?? null }
  const place = await findPlace(input)
  let running = await findRunningServer(place)
  if (running === null) {
    const log = await startInBackground(input, place)
    // Two clients may start one each: the second finds the directory locked and ends, and both use the first.
    running = await poll(startMsMax, () => findRunningServer(place), input.signal)
    if (running === null) throw new UsageError(`the server did not start: see ${log}`)
  }
  return { url: running.client.url, token: place.token ?? (await readToken(place.dataDir)) }
}

/** In a process group of its own, so that it outlives the client and this process. Returns its log file. */
async function startInBackground(input: CommandInput, { dataDir, file, config }: Place): Promise<string> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, 'serve.log')
  const log = await open(path, 'a', 0o600)
  const args = [
    ...process.execArgv,
    process.argv[1] ?? '',
    'serve',
    '--quiet',
    '--data-dir',
    dataDir,
    ...(file === null ? [] : ['--config', flagText(input.flags['config']) ?? file]),
    ...((await isPortFree(config.server)) ? [] : ['--port', '0']),
  ]
  const stdio = ['ignore', log.fd, log.fd] as const
  spawn(process.execPath, args, { detached: true, stdio: [...stdio], cwd: process.cwd() }).unref()
  await log.close()
  return path
}
