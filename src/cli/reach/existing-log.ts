/** The log that a command looks after, which must be there. */
import { UsageError, type CommandInput } from '../command.ts'
import { emptiedWords, logFile, logState, findPlace, type Place } from './place.ts'

export async function existingLog(
  input: Pick<CommandInput, 'flags' | 'env'>,
): Promise<Pick<Place, 'dataDir' | 'token'> & { file: string }> {
  const { dataDir, token } = await findPlace(input)
  const state = logState(dataDir)
  if (state === 'none')
    throw new UsageError(`there is no log in ${dataDir}: name the directory of one with --data-dir DIR.`)
  if (state === 'emptied') throw new UsageError(emptiedWords(dataDir))
  return { dataDir, token, file: logFile(dataDir) }
}
