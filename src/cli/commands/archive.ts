/** `tieline archive`: moves requests that ended long ago out of the log, into compressed segments beside it. */
import type { LogCare } from '../../log-care.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { flagText, isSilent, printResult, UsageError, type Command, type CommandInput } from '../command.ts'
import { isYes } from '../chat/question.ts'
import { refuseValue } from '../flags.ts'
import { findLog } from '../reach/recorded-log.ts'
import { findPlace } from '../reach/place.ts'
import { findRunningServer, isLocked } from '../reach/reach.ts'
import { countNoun, formatBytes, formatCount } from '../show/amounts.ts'

type Preview = Awaited<ReturnType<LogCare['previewArchive']>>
type Archived = Awaited<ReturnType<LogCare['archive']>>

const dayMs = 86_400_000

export const archive: Command = {
  name: 'archive',
  words: [],
  help: 'Moves requests that ended long ago out of the log into compressed files, and gives the space back',
  flags: {
    days: { value: 'DAYS', help: 'what ended so long ago; by default [store] segmentAfterDays, usually 30' },
    'dry-run': { help: 'only say what would be moved' },
    yes: { help: 'do not ask' },
  },
  without: { server: 'it needs the log to itself' },
  more: `
A request stays in the log while one of its sessions is not archived, or has mail, drafts or a question that
waits. Lists still show what was moved, and flow, replay, explain, export and the page open it as before; ids of
retries are still known. A running server does this by itself; by hand the log is also written anew without gaps,
so end the server first. It first says what it would move, and asks.`,
  examples: ['tieline archive --dry-run', 'tieline stop', 'tieline archive --days 7 --yes'],
  run: runArchive,
}

async function runArchive(input: CommandInput): Promise<number> {
  const { config, ...found } = await findPlace(input)
  if (config.store.engine === 'postgres')
    throw new UsageError(
      'the log is in PostgreSQL, where nothing is moved to segments: every node has a copy of the whole log.',
    )
  const days = readDays(input, config.store.segmentAfterDays)
  const { dataDir } = await findLog(input)
  const running = await findRunningServer(found)
  if (running !== null)
    throw new UsageError(
      `a server runs on ${dataDir} (${running.client.url}), which moves what is old by itself. ` +
        'To do it now, end it with "tieline stop" first.',
    )
  const { logCare } = await import('../../log-care.ts')
  const now = systemClock.now()
  const options = { directory: dataDir, now, endedBefore: now - days * dayMs, signal: input.signal }
  const preview = await alone(dataDir, logCare.previewArchive(options))
  const isOnly = input.flags['dry-run'] === true
  if (preview.flows === 0 || isOnly) {
    printResult(input, { dataDir, days, moved: null, ...preview }, describePreview(preview, days))
    return 0
  }
  if (!isSilent(input)) input.err.write(`${describePreview(preview, days)}\n`)
  if (!(await mayGoOn(input))) return 1
  const moved = await alone(dataDir, logCare.archive(options))
  printResult(input, { dataDir, days, ...moved }, describeMoved(moved))
  return 0
}

async function alone<T>(dataDir: string, work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    if (!isLocked(cause)) throw cause
    throw new UsageError(`another process uses ${dataDir}. End that process first.`, { cause })
  })
}

async function mayGoOn(input: CommandInput): Promise<boolean> {
  if (input.flags['yes'] === true) return true
  if (input.in?.isTTY !== true || input.err.isTTY !== true || isSilent(input))
    throw new UsageError('nothing was moved: there is nobody to ask here. Use --yes.')
  const { askLine } = await import('../chat/prompt.ts')
  const line = await askLine(input.in, input.err, 'Move them? [y/N] ', input.signal)
  if (line === 'interrupted') process.emit('SIGINT')
  return line !== null && line !== 'interrupted' && isYes(line.text)
}

function readDays({ flags }: CommandInput, configured: number): number {
  const given = flagText(flags['days'])
  if (given === undefined) {
    if (configured > 0) return configured
    throw new UsageError('[store] segmentAfterDays is 0, so nothing is moved by itself: say --days DAYS.')
  }
  const days = Number(given)
  if (given.trim() === '' || !(days >= 0 && days <= 36_500))
    throw refuseValue('days', given, 'a number of days, such as 30')
  return days
}

function describePreview({ flows, events, units, bytesBefore }: Preview, days: number): string {
  if (flows === 0)
    return `Nothing to move: no request that ended more than ${countNoun(days, 'day')} ago can leave the log.`
  return (
    `${countNoun(flows, 'request')} that ended more than ${countNoun(days, 'day')} ago, with ` +
    `${formatCount(events)} events, would leave the log: ${formatBytes(units)} of its text. ` +
    `Compressed they take about a tenth of that. The directory has ${formatBytes(bytesBefore)} now.`
  )
}

const describeMoved = ({ flows, segments, bytes, bytesBefore, bytesAfter }: Archived): string =>
  `Moved ${countNoun(flows, 'request')} into ${countNoun(segments, 'segment')} of ${formatBytes(bytes)}. ` +
  `The directory had ${formatBytes(bytesBefore)} and has ${formatBytes(bytesAfter)} now.`
