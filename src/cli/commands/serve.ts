/** `tieline serve`: the server in the foreground, until Ctrl-C. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Json } from '../../model/json.ts'
import { visibleJson } from '../../model/visible.ts'
import type { Listening } from '../../open-server.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { flagText, printError, printResult, UsageError, type Command, type CommandInput } from '../command.ts'
import { refuseValue } from '../flags.ts'
import { guardProcess } from '../reach/last-resort.ts'
import { untilIdle } from '../reach/background.ts'
import { isPortTaken } from '../reach/own-server.ts'
import { describeEmptied, findPlace, logState, type Place } from '../reach/place.ts'
import { findRunningServer, openClient } from '../reach/reach.ts'
import { actLater } from '../reach/wait.ts'

const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const
type Level = (typeof levels)[number]

export const serve: Command = {
  name: 'serve',
  words: [],
  help: 'Runs the server in the foreground: HTTP, WebSocket and MCP on one port, and the page',
  flags: {
    port: { value: 'PORT', help: 'by default as configured, usually 8283; 0 takes any free one' },
    host: { value: 'HOST', help: 'by default 127.0.0.1; any other address needs the token' },
    background: {
      help: 'as clients start it: with your own file only, and it ends when it was not used for 30 minutes',
    },
    'log-level': {
      value: 'LEVEL',
      help: `${levels.join(', ')}; by default warn. Logs are lines of JSON on stderr`,
    },
  },
  without: { server: 'it is the server itself' },
  more: `
The address is also in server.json in the data directory, where other commands find it. Ctrl-C ends it;
running turns continue at the next start. An uncaught fault is logged and ends it with exit code 70.`,
  examples: [
    'tieline serve',
    'tieline serve --port 9000 --log-level info',
    'TIELINE_TOKEN=secret tieline serve --host 0.0.0.0',
  ],
  run: runServe,
}

async function runServe(input: CommandInput): Promise<number> {
  const [givenPort, level] = [readPort(input), readLevel(input)]
  const inBackground = input.flags['background'] === true
  const place = await findPlace(input, { userOnly: inBackground })
  const { server } = place.config
  const [host, port] = [flagText(input.flags['host']) ?? server.host, givenPort ?? server.port]
  if (logState(place.dataDir) === 'emptied') printError(input.err, describeEmptied(place.dataDir))
  const { openServer: start } = await import('../../open-server.ts')
  const interrupted = waitForInterrupt(input)
  let close = async (): Promise<void> => undefined
  // Guarded before the start: a fault in the background while it starts ends it too.
  const unguard = guardProcess({
    log: (message, stack) => openLogger(input.err, 'error')('error', message, { stack }),
    close: () => close(),
  })
  const served = await start({
    loaded: place,
    dataDir: place.dataDir,
    codexHome: findCodexHome(input),
    host,
    port,
    onWarning: (text) => printError(input.err, text),
    log: openLogger(input.err, level),
    onListening(at) {
      close = () => at.close()
      tellAddress(input, at, place.token !== null, host)
    },
  }).catch(async (cause: unknown) => {
    const why = await explainFailedStart(cause, place, host, port)
    throw why === null ? cause : new UsageError(why, { cause })
  })
  void warnOfModels(input, place)
  const over = new AbortController()
  await (inBackground ? Promise.race([interrupted, untilIdle(served, over.signal)]) : interrupted)
  over.abort()
  await served.close()
  unguard()
  return 0
}

function tellAddress(
  input: CommandInput,
  { url, dataDir, token }: Listening,
  tokenGiven: boolean,
  host: string,
): void {
  const tokenFile = token === null || tokenGiven ? null : join(dataDir, 'token')
  const others =
    host === '0.0.0.0' || host === '::' ? `, and on every other address of this machine (${host})` : ''
  const secret = token === null ? '' : `, with the token in ${tokenFile ?? 'TIELINE_TOKEN'}`
  const text = `Tieline listens on ${url}${others}${secret}. Ctrl-C ends it.`
  printResult(input, { url, dataDir, tokenFile, pid: process.pid }, text, '')
}

const findCodexHome = ({ env }: CommandInput): string => env['CODEX_HOME'] || join(homedir(), '.codex')

/** Nobody waits for it: a server of models may be slow, or not there yet. */
async function warnOfModels({ err, env }: CommandInput, { config }: Place): Promise<void> {
  const { findUnknownModels } = await import('../setup/model-names.ts')
  for (const { agent, says } of await findUnknownModels(config, env, { localOnly: true }))
    printError(err, `agents.${agent}.model: ${says}.`)
}

async function explainFailedStart(
  error: unknown,
  place: Place,
  host: string,
  port: number,
): Promise<string | null> {
  if (isPortTaken(error))
    return (
      `port ${port} of ${host} is taken by ${await identifyProgram(port)}: ` +
      'choose another with --port PORT, or 0 for any free one.'
    )
  const running = await findRunningServer(place)
  return running === null
    ? null
    : `a server runs on ${place.dataDir} already, at ${running.client.url}: use that one, ` +
        'or choose another directory with --data-dir DIR.'
}

const healthMsMax = 1000

/** A Tieline server says so itself; a program that does not answer is not waited for. */
async function identifyProgram(port: number): Promise<string> {
  const url = `http://127.0.0.1:${port}`
  const over = new AbortController()
  actLater(healthMsMax, over.signal, () => over.abort())
  const health = await openClient(url, null)
    .health({ signal: over.signal })
    .catch(() => null)
  over.abort()
  return typeof health?.version === 'string'
    ? `another Tieline server (version ${health.version}, at ${url}), which serves another data directory`
    : 'another program'
}

/** For servers, whose normal end is Ctrl-C. */
export const waitForInterrupt = ({
  signal,
  onInterrupt,
}: Pick<CommandInput, 'signal' | 'onInterrupt'>): Promise<void> =>
  new Promise((resolve) => {
    onInterrupt?.(resolve)
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

function readPort({ flags }: CommandInput): number | null {
  const given = flags['port']
  if (given === undefined) return null
  if (typeof given === 'string' && /^\d{1,5}$/.test(given) && Number(given) <= 65_535) return Number(given)
  throw refuseValue('port', given, 'a port from 0 to 65535')
}

function readLevel({ flags }: CommandInput): Level {
  const given = flags['log-level'] ?? 'warn'
  const found = levels.find((level) => level === given)
  if (found === undefined) throw refuseValue('log-level', given, `one of ${levels.join(', ')}`)
  return found
}

/** One line of JSON for each entry, from a level on. */
const openLogger =
  (err: CommandInput['err'], least: Level) =>
  (level: Exclude<Level, 'silent'>, message: string, fields: Record<string, Json> = {}): void => {
    if (levels.indexOf(level) >= levels.indexOf(least))
      err.write(`${visibleJson({ at: systemClock.now(), level, message, ...fields })}\n`)
  }
