/**
 * Looking at what was recorded: through the server that owns the log where one runs, and in the log itself
 * where none does. To look starts nothing.
 */
import type { TielineClient } from '../../client/client.ts'
import { TielineError } from '../../client/tieline-error.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { openLog } from '../../recorded-log.ts'
import { UsageError, type CommandInput } from '../command.ts'
import { emptiedWords, logState, findPlace, type Place } from './place.ts'
import { isLocked, namedServer, runningServer } from './reach.ts'

export type OpenedLog = Awaited<ReturnType<typeof openLog>>

type LookInput = Pick<CommandInput, 'flags' | 'env' | 'signal'>

/** One question, for either. An id that is not there is a mistake of whoever typed it. */
export async function look<T>(
  input: LookInput,
  ask: { server: (client: TielineClient) => Promise<T>; log: (log: OpenedLog) => Promise<T> },
): Promise<T> {
  const named = await namedServer(input)
  if (named !== null) return asked(() => ask.server(named))
  const place = await findPlace(input)
  const running = await runningServer(place)
  return running === null ? openedLog(place, ask.log) : asked(() => ask.server(running.client))
}

/** For what needs the whole log to itself: `why` says what a running server must be stopped for. */
export async function withLog<T>(
  input: LookInput,
  why: string,
  ask: (log: OpenedLog) => Promise<T>,
): Promise<T> {
  const place = await findPlace(input)
  const running = await runningServer(place)
  if (running !== null)
    throw new UsageError(
      `a server runs on ${place.dataDir} (${running.client.url}${running.pid === null ? '' : `, process ${running.pid}`}): ${why} needs the log to itself. End the server first, or name another log with --data-dir DIR.`,
    )
  return openedLog(place, ask)
}

async function openedLog<T>({ dataDir, file }: Place, ask: (log: OpenedLog) => Promise<T>): Promise<T> {
  const state = logState(dataDir)
  if (state === 'none')
    throw new UsageError(`there is no log in ${dataDir}: name the directory of one with --data-dir DIR.`)
  if (state === 'emptied') throw new UsageError(emptiedWords(dataDir))
  const log = await openedAlone(dataDir, file)
  try {
    return await ask(log)
  } catch (error) {
    if (error instanceof Error && error.name === 'UnknownId')
      throw new UsageError(error.message, { cause: error })
    throw error
  } finally {
    await log.close()
  }
}

const busyMsMax = 2000
const lookAgainMs = 50

/** Another command may be looking too, for a moment. */
async function openedAlone(dataDir: string, file: string | null): Promise<OpenedLog> {
  const { openLog } = await import('../../recorded-log.ts')
  for (const until = systemClock.elapsed() + busyMsMax; ; await systemClock.sleep(lookAgainMs)) {
    try {
      return await openLog({ dataDir, ...(file === null ? {} : { config: file }) })
    } catch (error) {
      if (!isLocked(error) || systemClock.elapsed() > until) throw error
    }
  }
}

const unknownCodes = ['call_unknown', 'session_unknown', 'session_ambiguous', 'not_found']

async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof TielineError && unknownCodes.includes(error.code))
      throw new UsageError(error.message, { cause: error })
    throw error
  }
}
