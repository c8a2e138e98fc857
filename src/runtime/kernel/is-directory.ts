/** Whether a session can work there. */
import { statSync } from 'node:fs'

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
