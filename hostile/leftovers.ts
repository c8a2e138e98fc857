/**
 * Processes that are still there though whoever started them has ended: by the mark in their environment, or
 * by where they work.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export function leftovers(run: string, directory: string): string[] {
  const found: string[] = []
  for (const pid of readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && Number(name) !== process.pid,
  )) {
    try {
      const isOurs =
        readlinkSync(`/proc/${pid}/cwd`).startsWith(directory) ||
        readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`TIELINE_HOSTILE=${run}`)
      const state = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1]
      if (isOurs && state !== 'Z')
        found.push(
          `${pid}: ${readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\u0000', ' ').trim().slice(0, 120)}`,
        )
    } catch {
      // It has just ended, or belongs to somebody else.
    }
  }
  return found
}
