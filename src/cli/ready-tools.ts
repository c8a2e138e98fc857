/**
 * The tools as the build left them beside the bundle, as they are listed where the configuration says nothing about
 * them: a client that starts `tieline mcp` does not wait until their schemas are made. From the sources there are none.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config.ts'

type Settings = Pick<Config, 'tools' | 'subagent'>
export type ReadyTools = { settings: Settings; list: readonly object[] }

export const readyToolsFile = 'tools.json'

/** Null where the configuration differs, or where nothing is ready. */
export function findReadyTools({ tools, subagent }: Settings, directory: string): readonly object[] | null {
  try {
    const ready = JSON.parse(readFileSync(join(directory, readyToolsFile), 'utf8')) as ReadyTools
    return isDeepStrictEqual({ tools, subagent }, ready.settings) ? ready.list : null
  } catch {
    // Not there, or not whole: then they are described anew, which only takes longer.
    return null
  }
}
