/** Where a command works: its configuration, its data directory, and what is in there. */
import { existsSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { LoadedConfig } from '../../config.ts'
import { flagText, UsageError, type CommandInput } from '../command.ts'
import { readKept } from '../../trust/kept-file.ts'
import { findForeignOwner } from '../../trust/private-files.ts'
import { askTrust } from './ask-trust.ts'

/** The configuration as it was read, and where the log is. */
export type Place = LoadedConfig & {
  dataDir: string
  /** The configuration file, if a flag or the environment names it. */
  named: string | null
}

/** With `err`, a file that was found and is not agreed to is asked about on a terminal, or said to be unused. */
export type PlaceInput = Pick<CommandInput, 'flags' | 'env'> &
  Partial<Pick<CommandInput, 'in' | 'err' | 'signal'>>

/** `userOnly`: for what runs without a person who looks, a file that lies in the directory does not count. */
export async function findPlace(input: PlaceInput, { userOnly = false } = {}): Promise<Place> {
  const { flags, env } = input
  const [{ loadConfig }, { ConfigError }] = await Promise.all([
    import('../../config.ts'),
    import('../../config-path.ts'),
  ])
  try {
    const file = flagText(flags['config'])
    const source = { file, cwd: process.cwd(), env, home: homedir(), userOnly }
    let loaded = await loadConfig(source)
    // Read again after the answer: what is used is what was agreed to, or it is asked about again.
    while (loaded.untrusted !== null && (await askTrust(input, loaded.untrusted)))
      loaded = await loadConfig(source)
    const dataDir = flagText(flags['data-dir'])
    return {
      ...loaded,
      named: (file ?? env['TIELINE_CONFIG'] ?? '') === '' ? null : loaded.file,
      dataDir: dataDir === undefined ? loaded.config.server.dataDir : resolve(dataDir),
    }
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}

export const logFile = (dataDir: string): string => join(dataDir, 'tieline.db')

/** A log is never empty, so `emptied` (a file of 0 bytes) means that its content was lost. */
export function logState(dataDir: string): 'none' | 'emptied' | 'there' {
  const file = logFile(dataDir)
  if (!existsSync(file)) return 'none'
  return statSync(file).size === 0 && !existsSync(`${file}-wal`) ? 'emptied' : 'there'
}

export const describeEmptied = (dataDir: string): string =>
  `${logFile(dataDir)} is empty (0 bytes): what was recorded in it is gone. ` +
  'Restore it from a copy, or remove the file to start again.'

/** What a server writes about itself into its data directory, with its configuration at the start. */
export type ServerFile = { url: string; pid: number | null; config: string | null; digest: string | null }

const fileBytesMax = 64 * 1024

/** Null where there is none, or none that can be read. */
export async function readServerFile(dataDir: string): Promise<ServerFile | null> {
  try {
    // In a directory of somebody else it could name any server.
    if (findForeignOwner(dataDir) !== null) return null
    const text = String(await readKept(join(dataDir, 'server.json'), fileBytesMax))
    const { url, pid, config = null, digest = null } = JSON.parse(text) as Partial<ServerFile>
    return typeof url === 'string' ? { url, pid: typeof pid === 'number' ? pid : null, config, digest } : null
  } catch {
    return null
  }
}

/** The token that a server of this machine wrote for its user. */
export async function readToken(dataDir: string): Promise<string | null> {
  const text = await readKept(join(dataDir, 'token'), fileBytesMax).then(String, () => '')
  return text.trim() === '' ? null : text.trim()
}

/** Why a server does not go by the file that was named here; null where it does, or where none was named. */
export function compareConfig(
  { file, named, dataDir }: Pick<Place, 'file' | 'named' | 'dataDir'>,
  server: Pick<ServerFile, 'config'>,
): { says: string; todo: string } | null {
  // It finds the files of projects and of the user by itself, and reads what has changed.
  if (named === null || server.config === file) return null
  const has = server.config === null ? 'has no configuration file' : `works with ${server.config}`
  return {
    says: `the server of ${dataDir} ${has}, and does not know ${file}`,
    todo:
      'End it with "tieline stop", or give this project a data directory of its own with server.dataDir ' +
      'in its configuration.',
  }
}
