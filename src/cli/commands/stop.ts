/** `tieline stop`: ends the server of the data directory. */
import { describeError } from '../../client/tieline-error.ts'
import { printResult, UsageError, type Command, type CommandInput } from '../command.ts'
import { findPlace } from '../reach/place.ts'
import { findRunningServer, isAlive } from '../reach/reach.ts'
import { poll } from '../reach/wait.ts'

const endMsMax = 30_000

export const stop: Command = {
  name: 'stop',
  words: [],
  help: 'Ends the server of the data directory, such as one that "tieline mcp" started in the background',
  flags: {},
  without: { server: 'a server is ended on its own machine' },
  more: `
Nothing is lost: what ran continues when the next command starts a server there.`,
  examples: ['tieline stop', 'tieline stop --data-dir ./data'],
  async run(input: CommandInput): Promise<number> {
    const place = await findPlace(input)
    const { dataDir } = place
    const pid = (await findRunningServer(place))?.pid ?? null
    if (pid !== null) await endProcess(pid, input.signal)
    const text =
      pid === null ? `No server runs on ${dataDir}.` : `The server of ${dataDir} (process ${pid}) has ended.`
    printResult(input, { dataDir, stopped: pid }, text, '')
    return 0
  },
}

async function endProcess(pid: number, signal: AbortSignal): Promise<void> {
  try {
    process.kill(pid, 'SIGTERM')
  } catch (cause) {
    const message = `the server is process ${pid}, which cannot be ended from here: ${describeError(cause)}`
    throw new UsageError(message, { cause })
  }
  if ((await poll(endMsMax, () => (isAlive(pid) ? null : true), signal)) === null)
    throw new UsageError(`process ${pid} was told to end, and still runs after ${endMsMax / 1000} s.`)
}
