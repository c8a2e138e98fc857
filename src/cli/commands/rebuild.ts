/** `tieline rebuild`: derives the views from the log again. */
import type { LogCare } from '../../log-care.ts'
import { printResult, UsageError, type Command, type CommandInput } from '../command.ts'
import { isLocked, findRunningServer } from '../reach/reach.ts'
import { findPlace } from '../reach/place.ts'
import { findLog } from '../reach/recorded-log.ts'
import { reportProgress } from '../show/log-progress.ts'
import { oneLine } from '../show/width.ts'

type LogRebuild = Awaited<ReturnType<LogCare['rebuild']>>

export const rebuild: Command = {
  name: 'rebuild',
  words: [],
  help: 'Derives sessions, turns, calls and messages from the log again, and says what was different',
  flags: {
    'leave-out': { help: 'go on without rows that cannot be read, and without what depends on them' },
  },
  without: { server: 'it needs the log to itself' },
  more: `
The log is not changed. Everything happens in one step: if it is interrupted, everything is as it was.
It needs the log to itself, so end the server first. Of a log in PostgreSQL it makes this node's own copy and
its views again, so only this node has to end.`,
  examples: ['tieline stop', 'tieline rebuild', 'tieline check'],
  run: runRebuild,
}

async function runRebuild(input: CommandInput): Promise<number> {
  const { config, ...found } = await findPlace(input)
  const isShared = config.store.engine === 'postgres'
  const place = isShared ? found : await findLog(input)
  const { dataDir } = place
  const running = await findRunningServer(place)
  if (running !== null)
    throw new UsageError(
      `a server runs on ${dataDir} (${running.client.url}): a rebuild needs the log to itself. ` +
        'End it with "tieline stop" first.',
    )
  const { logCare } = await import('../../log-care.ts')
  const options = {
    directory: dataDir,
    leaveOut: input.flags['leave-out'] === true,
    onProgress: reportProgress(input, 'rows folded'),
    signal: input.signal,
  }
  const url = isShared ? logCare.findAddress(config.store.urlEnv, input.env) : ''
  const rebuilding = isShared ? logCare.rebuildCluster({ ...options, url }) : logCare.rebuild(options)
  const result = await rebuilding.catch((cause: unknown) => {
    if (!isLocked(cause)) throw cause
    const message = `another process uses ${dataDir}: a rebuild needs the log to itself. End that process first.`
    throw new UsageError(message, { cause })
  })
  printResult(input, { dataDir, ...result }, renderRebuild(result).join('\n'))
  return 0
}

function renderRebuild({ rows, differed, leftOut }: LogRebuild): string[] {
  const isSame = differed.length === 0
  return [
    ...differed.map((said) => `was different: ${oneLine(said)}`),
    ...leftOut.map(({ row, flow, says }) => {
      const of = flow === null ? '' : ` (${flow})`
      return `✗ row ${row}${of} was left out: ${oneLine(says)}`
    }),
    isSame
      ? `Nothing was different: what is derived from the ${rows} rows of the log was as it should be.`
      : `Derived again from ${rows} rows of the log.`,
  ]
}
