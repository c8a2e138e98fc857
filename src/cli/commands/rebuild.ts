/** `tieline rebuild`: what is derived from the log, anew. */
import type { LogCare } from '../../log-care.ts'
import { printJson, UsageError, type Command, type CommandInput } from '../command.ts'
import { existingLog } from '../reach/existing-log.ts'
import { progressTo } from '../show/log-progress.ts'
import { isLocked, runningServer } from '../reach/reach.ts'
import { oneLine } from '../show/width.ts'

type LogRebuild = Awaited<ReturnType<LogCare['rebuild']>>

export const rebuild: Command = {
  name: 'rebuild',
  words: [],
  help: 'Derives sessions, turns, calls and messages anew from the log, and says what was different',
  flags: {
    'leave-out': { help: 'go on without rows that cannot be read, and without what depends on them' },
  },
  without: { server: 'it needs the log to itself' },
  more: [
    'The log is not changed. All is done in one step: if it is interrupted, everything is as it was. ' +
      'It needs the log to itself, so end the server first.',
    '',
    'Examples:',
    '  tieline stop',
    '  tieline rebuild',
    '  tieline check',
  ],
  run: runRebuild,
}

async function runRebuild(input: CommandInput): Promise<number> {
  const place = await existingLog(input)
  const { dataDir } = place
  const running = await runningServer(place)
  if (running !== null)
    throw new UsageError(
      `a server runs on ${dataDir} (${running.client.url}): a rebuild needs the log to itself. ` +
        'End it with "tieline stop" first.',
    )
  const { logCare } = await import('../../log-care.ts')
  const options = {
    directory: dataDir,
    leaveOut: input.flags['leave-out'] === true,
    onProgress: progressTo(input, 'rows folded'),
    signal: input.signal,
  }
  const result = await logCare.rebuild(options).catch((error: unknown) => {
    if (isLocked(error))
      throw new UsageError(
        `another process uses ${dataDir}: a rebuild needs the log to itself. End that process first.`,
        { cause: error },
      )
    throw error
  })
  if (input.flags['json'] === true) printJson(input.out, { dataDir, ...result })
  else input.out.write(`${rebuildLines(result).join('\n')}\n`)
  return 0
}

export function rebuildLines({ rows, differed, leftOut }: LogRebuild): string[] {
  const lost = leftOut.map(
    ({ row, flow, says }) =>
      `✗ row ${row}${flow === null ? '' : ` (${flow})`} was left out: ${oneLine(says)}`,
  )
  if (differed.length === 0)
    return [
      ...lost,
      `Nothing was different: what is derived from the ${rows} rows of the log was as it should be.`,
    ]
  return [
    ...differed.map((said) => `was different: ${oneLine(said)}`),
    ...lost,
    `Derived anew from ${rows} rows of the log.`,
  ]
}
