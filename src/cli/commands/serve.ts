/** `tieline serve`: the server in the foreground, until Ctrl-C. */
import { join } from 'node:path'
import type { Json } from '../../model/json.ts'
import { visibleJson } from '../../model/visible.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { flagText, printJson, UsageError, type Command, type CommandInput } from '../command.ts'
import { guardProcess } from '../reach/last-resort.ts'
import { emptiedWords, logState, findPlace } from '../reach/place.ts'
import { isPortTaken } from '../reach/port.ts'

const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const
type Level = (typeof levels)[number]

export const serve: Command = {
  name: 'serve',
  words: [],
  help: 'Runs the server in the foreground: HTTP, WebSocket and MCP on one port, and the page',
  flags: {
    port: {
      value: 'PORT',
      help: 'otherwise as the configuration says, usually 8283; 0 takes any that is free',
    },
    host: { value: 'HOST', help: 'otherwise 127.0.0.1; any other address needs the token' },
    'log-level': {
      value: 'LEVEL',
      help: `${levels.join(', ')}; otherwise warn. Logs are lines of JSON on stderr`,
    },
  },
  without: { server: 'it is the server itself' },
  more: [
    'The address is also in server.json in the data directory, where other commands find it. Ctrl-C ends it; turns that run then go on at the next start. A fault that nobody caught is logged and ends it with exit code 70.',
    '',
    'Examples:',
    '  tieline serve',
    '  tieline serve --port 9000 --log-level info',
    '  TIELINE_TOKEN=secret tieline serve --host 0.0.0.0',
  ],
  run: runServe,
}

async function runServe(input: CommandInput): Promise<number> {
  const [port, level] = [portOf(input), levelOf(input)]
  const place = await findPlace(input)
  const host = flagText(input.flags['host']) ?? place.config.server.host
  if (logState(place.dataDir) === 'emptied') input.err.write(`tieline: ${emptiedWords(place.dataDir)}\n`)
  const { openServer: start } = await import('../../open-server.ts')
  const options = {
    ...(place.file === null ? {} : { config: place.file }),
    dataDir: place.dataDir,
    host,
    port: port ?? place.config.server.port,
    onWarning: (text: string) => void input.err.write(`tieline: ${text}\n`),
    log: logTo(input.err, level),
  }
  const ended = untilInterrupted(input)
  let close = async (): Promise<void> => undefined
  // Before anything is started: what breaks in the background while it starts ends it too.
  const unguard = guardProcess({
    log: (message, stack) => logTo(input.err, 'error')('error', message, { stack }),
    close: () => close(),
  })
  const served = await start(options).catch(async (error: unknown) => {
    if (isPortTaken(error))
      throw new UsageError(
        `port ${options.port} of ${host} is taken by ${await takerOf(options.port)}: choose another with --port PORT, or 0 for any that is free.`,
        { cause: error },
      )
    const { runningServer } = await import('../reach/reach.ts')
    const running = await runningServer(place)
    if (running !== null)
      throw new UsageError(
        `a server runs on ${place.dataDir} already, at ${running.client.url}: use that one, or choose another directory with --data-dir DIR.`,
        { cause: error },
      )
    throw error
  })
  close = () => served.close()
  const tokenFile = served.token === null || place.token !== null ? null : join(served.dataDir, 'token')
  if (input.flags['json'] === true)
    printJson(input.out, { url: served.url, dataDir: served.dataDir, tokenFile, pid: process.pid })
  else if (input.flags['quiet'] !== true)
    input.out.write(
      `Tieline listens on ${served.url}${isWildcard(host) ? `, and on every other address of this machine (${host})` : ''}${served.token === null ? '' : `, with the token in ${tokenFile ?? 'TIELINE_TOKEN'}`}. Ctrl-C ends it.\n`,
    )
  await ended
  await served.close()
  unguard()
  return 0
}

const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::'

const healthMsMax = 1000

/** Another Tieline says so itself; a program that says nothing is not waited for. */
async function takerOf(port: number): Promise<string> {
  const { openClient } = await import('../reach/reach.ts')
  const url = `http://127.0.0.1:${port}`
  const over = new AbortController()
  void systemClock.sleep(healthMsMax, over.signal).then(
    () => over.abort(),
    () => undefined,
  )
  const health = await openClient(url, null)
    .health({ signal: over.signal })
    .catch(() => null)
  over.abort()
  return health === null || typeof health.version !== 'string'
    ? 'another program'
    : `another Tieline server (version ${health.version}, at ${url}), which serves another data directory`
}

/** To be ended is what a server waits for, so that is no failure. */
export const untilInterrupted = ({
  signal,
  onInterrupt,
}: Pick<CommandInput, 'signal' | 'onInterrupt'>): Promise<void> =>
  new Promise((resolve) => {
    onInterrupt?.(resolve)
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

function portOf({ flags }: CommandInput): number | null {
  const given = flags['port']
  if (given === undefined) return null
  if (typeof given !== 'string' || !/^\d{1,5}$/.test(given) || Number(given) > 65_535)
    throw new UsageError(`--port: "${given}" was given, but a port from 0 to 65535 is needed.`)
  return Number(given)
}

function levelOf({ flags }: CommandInput): Level {
  const given = flags['log-level'] ?? 'warn'
  const found = levels.find((level) => level === given)
  if (found === undefined)
    throw new UsageError(`--log-level: "${given}" was given, but one of ${levels.join(', ')} is needed.`)
  return found
}

/** One line of JSON for each; what is below the level is left out. */
const logTo =
  (err: CommandInput['err'], least: Level) =>
  (level: Exclude<Level, 'silent'>, message: string, fields: Record<string, Json> = {}): void => {
    if (levels.indexOf(level) >= levels.indexOf(least))
      err.write(`${visibleJson({ at: systemClock.now(), level, message, ...fields })}\n`)
  }
