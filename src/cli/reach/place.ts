/** Where a command works: which configuration, which data directory, and what lies there. */
import { existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Config } from '../../config.ts'
import { flagText, UsageError, type CommandInput } from '../command.ts'

export type Place = {
  dataDir: string
  /** The file of the configuration, where there is one, and of what stands in it. */
  file: string | null
  digest: string | null
  config: Config
  token: string | null
  warnings: readonly string[]
}

export async function findPlace({ flags, env }: Pick<CommandInput, 'flags' | 'env'>): Promise<Place> {
  const { ConfigError, loadConfig } = await import('../../config.ts')
  try {
    const { config, file, digest, token, warnings } = await loadConfig({
      file: flagText(flags['config']),
      cwd: process.cwd(),
      env,
      home: homedir(),
    })
    const named = flagText(flags['data-dir'])
    return {
      dataDir: named === undefined ? config.server.dataDir : resolve(named),
      file,
      digest,
      config,
      token,
      warnings,
    }
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}

export const logFile = (dataDir: string): string => join(dataDir, 'tieline.db')

/**
 * `emptied`: a file of no bytes. A log has some from its first moment on, so what was in this one is gone.
 */
export function logState(dataDir: string): 'none' | 'emptied' | 'there' {
  const file = logFile(dataDir)
  if (!existsSync(file)) return 'none'
  return statSync(file).size === 0 && !existsSync(`${file}-wal`) ? 'emptied' : 'there'
}

export const emptiedWords = (dataDir: string): string =>
  `${logFile(dataDir)} is empty (0 bytes): what was recorded in it is gone. Restore it from a copy, or remove the file to begin anew.`

/**
 * What a server that owns a data directory says about itself there: also its configuration as it was when it
 * started.
 */
export type ServerFile = { url: string; pid: number | null; config: string | null; digest: string | null }

/** Null where there is none, or none that can be read: it says nothing then. */
export async function readServerFile(dataDir: string): Promise<ServerFile | null> {
  try {
    const said = JSON.parse(await readFile(join(dataDir, 'server.json'), 'utf8')) as Partial<ServerFile>
    return typeof said.url === 'string'
      ? {
          url: said.url,
          pid: typeof said.pid === 'number' ? said.pid : null,
          config: said.config ?? null,
          digest: said.digest ?? null,
        }
      : null
  } catch {
    return null
  }
}

/** The token that a server of this machine left for its user. */
export async function readToken(dataDir: string): Promise<string | null> {
  const text = await readFile(join(dataDir, 'token'), 'utf8').catch(() => '')
  return text.trim() === '' ? null : text.trim()
}

/**
 * Why a server does not know what stands in the configuration here; null where it does, or where there is
 * none here.
 */
export function otherConfig(
  { file, digest, dataDir }: Pick<Place, 'file' | 'digest' | 'dataDir'>,
  server: Pick<ServerFile, 'config' | 'digest'>,
): { says: string; todo: string } | null {
  if (file === null || (server.config === file && server.digest === digest)) return null
  if (server.config === file)
    return {
      says: `the server was started before ${file} was changed, and does not know the changes`,
      todo: 'End it with "tieline stop"; the next command starts one that does.',
    }
  return {
    says: `the server of ${dataDir} ${server.config === null ? 'has no configuration file' : `works with ${server.config}`}, and does not know ${file}`,
    todo: 'End it with "tieline stop", or give this project a data directory of its own with server.dataDir in its configuration.',
  }
}
