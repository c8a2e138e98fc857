/** `tieline stop`: ends the server of the data directory. */
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { printJson, UsageError, type Command, type CommandInput } from '../command.ts'

const endMsMax = 30_000
const lookAgainMs = 50

export const stop: Command = {
  name: 'stop',
  words: [],
  help: 'Ends the server of the data directory, such as one that "tieline mcp" has left in the background',
  flags: {},
  without: { server: 'a server is ended on its own machine' },
  more: [
    'Nothing is lost: what ran goes on when the next command starts a server there. Where none runs, nothing is done.',
    '',
    'Examples:',
    '  tieline stop',
    '  tieline stop --data-dir ./data',
  ],
  async run(input: CommandInput): Promise<number> {
    const [{ isAlive, runningServer }, { findPlace }] = await Promise.all([
      import('../reach/reach.ts'),
      import('../reach/place.ts'),
    ])
    const place = await findPlace(input)
    const running = await runningServer(place)
    if (running?.pid != null) await ended(running.pid, isAlive, input.signal)
    if (input.flags['json'] === true)
      printJson(input.out, { dataDir: place.dataDir, stopped: running?.pid ?? null })
    else if (input.flags['quiet'] !== true)
      input.out.write(
        running?.pid == null
          ? `No server runs on ${place.dataDir}.\n`
          : `The server of ${place.dataDir} (process ${running.pid}) has ended.\n`,
      )
    return 0
  },
}

async function ended(pid: number, isAlive: (pid: number) => boolean, signal: AbortSignal): Promise<void> {
  try {
    process.kill(pid, 'SIGTERM')
  } catch (error) {
    throw new UsageError(
      `the server is process ${pid}, which cannot be ended from here: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  }
  for (
    const until = systemClock.elapsed() + endMsMax;
    isAlive(pid);
    await systemClock.sleep(lookAgainMs, signal)
  ) {
    if (systemClock.elapsed() > until)
      throw new UsageError(`process ${pid} was told to end, and still runs after ${endMsMax / 1000} s.`)
  }
}
