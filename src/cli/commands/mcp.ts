/**
 * `tieline mcp`: an MCP server on standard input and output, for clients that start their servers themselves.
 */
import { spawn } from 'node:child_process'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { version } from '../../version.ts'
import { flagText, UsageError, type Command, type CommandInput } from '../command.ts'
import { findPlace, readToken, type Place } from '../reach/place.ts'

export const mcp: Command = {
  name: 'mcp',
  words: [],
  help: 'Serves MCP on standard input and output; MCP clients start it',
  flags: {},
  more: [
    'It passes everything on to the server of the data directory. Where none runs, one is started in the background, with its log in serve.log there, because a client may end at any time. It ends when its input does.',
    '',
    'Examples:',
    '  tieline init                                  tells your MCP clients about it',
    '  claude mcp add tieline -- tieline mcp         or do it by hand',
  ],
  async run(input: CommandInput): Promise<number> {
    // The relay alone: some clients do not wait for a server that takes its time to start.
    const [{ serveMcpStdio }, { surroundings }] = await Promise.all([
      import('../../adapters/mcp/serve-stdio.ts'),
      import('../../client/surroundings.ts'),
    ])
    await serveMcpStdio({
      server: () => serverFor(input),
      version,
      cwd: process.cwd(),
      env: input.env,
      stdin: input.in ?? process.stdin,
      stdout: (input.out.raw ?? input.out) as unknown as NodeJS.WritableStream &
        Parameters<typeof serveMcpStdio>[0]['stdout'],
      signal: input.signal,
      surroundings,
      report: (text) => void input.err.write(`tieline: ${text}\n`),
    })
    return 0
  },
}

/** How long a server in the background may take to listen. */
const startMsMax = 20_000
const lookAgainMs = 50

async function serverFor(input: CommandInput): Promise<{ url: string; token: string | null }> {
  const { namedServer, runningServer } = await import('../reach/reach.ts')
  const named = await namedServer(input)
  if (named !== null) return { url: named.url, token: input.env['TIELINE_TOKEN'] ?? null }
  const place = await findPlace(input)
  const running = await runningServer(place)
  if (running !== null)
    return { url: running.client.url, token: place.token ?? (await readToken(place.dataDir)) }
  const child = await startInBackground(input, place)
  for (
    const until = systemClock.elapsed() + startMsMax;
    systemClock.elapsed() < until;
    await systemClock.sleep(lookAgainMs, input.signal)
  ) {
    // Two clients may start one each: the second finds the directory taken and ends, and both find the first.
    const found = await runningServer(place)
    if (found !== null)
      return { url: found.client.url, token: place.token ?? (await readToken(place.dataDir)) }
  }
  throw new UsageError(`the server did not start: see ${child.log}`)
}

/** The same program, in a group of its own: it goes on when the client and this process end. */
async function startInBackground(input: CommandInput, place: Place): Promise<{ log: string }> {
  await mkdir(place.dataDir, { recursive: true, mode: 0o700 })
  const log = join(place.dataDir, 'serve.log')
  const file = await open(log, 'a', 0o600)
  const config = flagText(input.flags['config'])
  const args = [
    process.argv[1] ?? '',
    'serve',
    '--quiet',
    '--data-dir',
    place.dataDir,
    ...(place.file === null ? [] : ['--config', config ?? place.file]),
  ]
  const { isPortFree } = await import('../reach/port.ts')
  const free = await isPortFree(place.config.server)
  const child = spawn(process.execPath, [...process.execArgv, ...args, ...(free ? [] : ['--port', '0'])], {
    detached: true,
    stdio: ['ignore', file.fd, file.fd],
    cwd: process.cwd(),
  })
  child.unref()
  await file.close()
  return { log }
}
