/** Whether a session can work there, and what the place is really called. */
import { realpathSync, statSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { badInput, type Refusal } from '../../model/refusal.ts'
import { isOfSystem } from './is-of-system.ts'

/**
 * A name that the system does not even look up, because it is too long or holds a NUL, is no directory
 * either.
 */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

export const notOfSystem = 'a directory outside /proc, /sys and /dev'

/** Null where a session may work there. `path` is absolute, `given` as it was asked for. */
export function refuseDirectory(path: string, given = path): Refusal | null {
  if (!isDirectory(path)) return badInput('cwd', given, 'a directory that exists')
  return isOfSystem(realpathSync.native(path)) ? badInput('cwd', given, notOfSystem) : null
}

/** Without symbolic links. What is not there, or no whole path, stays as it is. */
export const toRealPath = async (path: string): Promise<string> =>
  isAbsolute(path) ? realpath(path).catch(() => path) : path
