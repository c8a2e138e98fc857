/** `tieline migrate --to <engine>`: moves the log to PostgreSQL, or back into a data directory. */
import { flagText, printResult, UsageError, type Command, type CommandInput } from '../command.ts'
import { findPlace } from '../reach/place.ts'
import { findRunningServer } from '../reach/reach.ts'
import { reportProgress } from '../show/log-progress.ts'

export const migrate: Command = {
  name: 'migrate',
  words: [],
  help: 'Copies the log to PostgreSQL, or from there into a data directory, and compares both',
  flags: { to: { value: 'ENGINE', help: 'postgres or sqlite' } },
  without: { server: 'it needs the log to itself' },
  more: `
The address of the database is in the variable that [store] urlEnv names (TIELINE_DATABASE_URL).
End the server and all nodes first. What is there stays as it is: the log is copied, and both are compared by
their hash. If it is interrupted, run it again: it goes on where it was. Then set [store] engine, and start.`,
  examples: ['tieline migrate --to postgres', 'tieline migrate --to sqlite --data-dir ./back'],
  run: runMigrate,
}

async function runMigrate(input: CommandInput): Promise<number> {
  const to = flagText(input.flags['to'])
  if (to !== 'postgres' && to !== 'sqlite')
    throw new UsageError('where to? Use --to postgres, or --to sqlite.')
  const place = await findPlace(input)
  const { dataDir, config } = place
  const running = await findRunningServer(place)
  if (running !== null)
    throw new UsageError(
      `a server runs on ${dataDir} (${running.client.url}): a log that moves must not change. ` +
        'End it with "tieline stop" first.',
    )
  const { logCare } = await import('../../log-care.ts')
  const moved = await logCare.move(to, {
    directory: dataDir,
    url: logCare.findAddress(config.store.urlEnv, input.env),
    onProgress: reportProgress(input, 'events copied and compared'),
    signal: input.signal,
  })
  const text =
    `${moved.place}: ${moved.rows} rows with ${moved.events} events, the same on both sides ` +
    `(sha256 ${moved.hash.slice(0, 16)}). Next: set engine = "${to}" in [store], and start the server.`
  printResult(input, { dataDir, to, ...moved }, text)
  return 0
}
