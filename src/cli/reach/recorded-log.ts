/**
 * Reads what was recorded: through the server that owns the log, or from the log itself where no server runs.
 * Reading starts nothing.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TielineClient } from '../../client/client.ts'
import { TielineError } from '../../client/tieline-error.ts'
import type { ExportedLog } from '../../wire/log.ts'
import type { OpenedLog } from '../../recorded-log.ts'
import { UsageError, type CommandInput } from '../command.ts'
import { describeEmptied, findPlace, logFile, logState, type Place, type PlaceInput } from './place.ts'
import { findNamedServer, findRunningServer, retryWhileLocked } from './reach.ts'

export type { OpenedLog }

type ReadInput = Pick<CommandInput, 'flags' | 'env' | 'signal'> & Partial<Pick<CommandInput, 'in' | 'err'>>

/** Asks the server or the log. An id that is not there is a mistake in the command line. */
export async function readRecorded<T>(
  input: ReadInput,
  ask: { server: (client: TielineClient) => Promise<T>; log: (log: OpenedLog) => Promise<T> },
): Promise<T> {
  const named = await findNamedServer(input)
  if (named !== null) return refuseUnknown(() => ask.server(named))
  const place = await findPlace(input)
  const running = await findRunningServer(place)
  return running === null
    ? useLog(place, input.env, ask.log)
    : refuseUnknown(() => ask.server(running.client))
}

/** Replays what a server has exported, in memory: with the configuration that came with it, or a named one. */
export async function replayExport(input: ReadInput, { header, text }: ExportedLog) {
  const place = await findPlace(input)
  const { openLogWith } = await import('../../recorded-log.ts')
  const named = place.named !== null
  const log = await openLogWith({ dataDir: ':memory:', from: text, loaded: place, named })
  try {
    return await log.replay(header.of ?? '')
  } finally {
    await log.close()
  }
}

/** The log of the data directory, which must exist. */
export async function findLog(
  input: PlaceInput,
): Promise<Pick<Place, 'dataDir' | 'token'> & { file: string }> {
  const { dataDir, token } = await findPlace(input)
  return { dataDir, token, file: requireLog(dataDir) }
}

function requireLog(dataDir: string): string {
  const state = logState(dataDir)
  if (state === 'there') return logFile(dataDir)
  throw new UsageError(
    state === 'emptied'
      ? describeEmptied(dataDir)
      : `there is no log in ${dataDir}: name the directory of one with --data-dir DIR.`,
  )
}

/** Such as one that was imported, and that no node of a cluster works with. */
const hasOwnLog = (dataDir: string): boolean =>
  logState(dataDir) === 'there' && !existsSync(join(dataDir, 'replica.db'))

/** Another command may be reading it for a moment. */
const busyMsMax = 2000

async function useLog<T>(
  place: Place,
  env: PlaceInput['env'],
  ask: (log: OpenedLog) => Promise<T>,
): Promise<T> {
  const { dataDir, config } = place
  const isShared = config.store.engine === 'postgres' && !hasOwnLog(dataDir)
  if (!isShared) requireLog(dataDir)
  const { openLogWith } = await import('../../recorded-log.ts')
  const options = {
    dataDir,
    loaded: place,
    named: place.named !== null,
    ...(isShared ? { store: config.store, env } : {}),
  }
  const log = await retryWhileLocked(busyMsMax, () => openLogWith(options))
  try {
    return await refuseUnknown(() => ask(log))
  } finally {
    await log.close()
  }
}

const unknownCodes = ['call_unknown', 'session_unknown', 'session_ambiguous', 'not_found']

async function refuseUnknown<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const isUnknown =
      error instanceof TielineError ? unknownCodes.includes(error.code) : error.name === 'UnknownId'
    throw isUnknown ? new UsageError(error.message, { cause: error }) : error
  }
}
