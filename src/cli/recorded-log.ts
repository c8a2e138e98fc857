/** What the commands about a recorded log share: which directory it is in, and how mistakes are told. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { openLog } from '../serve.ts'
import { sharedFlags, UsageError, type CommandInput, type Flag } from './command.ts'

export const logFlags = {
  'data-dir': { value: 'DIR', help: 'where the log is kept' },
  config: { value: 'FILE', help: 'tieline.toml or tieline.json, whose data directory and agents are meant' },
  json: sharedFlags.json,
} as const satisfies Record<string, Flag>

export type OpenedLog = Awaited<ReturnType<typeof openLog>>

export const flagText = (flag: string | true | undefined): string | undefined => (typeof flag === 'string' ? flag : undefined)

/** The directory that a flag names, or else the one of the configuration; and the file of that, where there is one. */
export async function logPlace({ flags, env }: Pick<CommandInput, 'flags' | 'env'>): Promise<{ dataDir: string; config: string | null }> {
  const { ConfigError, loadConfig } = await import('../config.ts')
  try {
    const found = await loadConfig({ file: flagText(flags['config']), cwd: process.cwd(), env, home: homedir() })
    const named = flagText(flags['data-dir'])
    return { dataDir: named === undefined ? found.config.server.dataDir : resolve(named), config: found.file }
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}

/** Opens the log, asks, and closes it whatever happened. An id that is not there is a mistake of whoever typed it. */
export async function withLog<T>(input: Pick<CommandInput, 'flags' | 'env'>, ask: (log: OpenedLog) => Promise<T>): Promise<T> {
  const { dataDir, config } = await logPlace(input)
  if (!existsSync(join(dataDir, 'tieline.db'))) throw new UsageError(`there is no log in ${dataDir}: name the directory of one with --data-dir DIR.`)
  const { openLog } = await import('../serve.ts')
  const log = await openLog({ dataDir, ...(config === null ? {} : { config }) })
  try {
    return await ask(log)
  } catch (error) {
    if (error instanceof Error && error.name === 'UnknownId') throw new UsageError(error.message, { cause: error })
    throw error
  } finally {
    await log.close()
  }
}

export const printJson = (out: CommandInput['out'], value: unknown): void => void out.write(`${JSON.stringify(value)}\n`)
