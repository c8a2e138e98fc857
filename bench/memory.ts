/** Memory and disk per idle session, measured in a process of its own. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { MemoryResult } from './memory-process.ts'
import type { Progress } from './progress.ts'
import { formatNumber, type Part } from './report.ts'

const file = fileURLToPath(new URL('memory-process.ts', import.meta.url))

export async function memory(progress: Progress): Promise<Part> {
  progress.part('memory', 1)
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', file], {
    timeout: 120_000,
  })
  const { sessions, before, after, reopenMs } = JSON.parse(stdout) as MemoryResult
  progress.step(`${sessions} sessions`)
  const mb = (bytes: number): string => formatNumber(bytes / 1024 / 1024)
  const each = (from: number, to: number): string => formatNumber((to - from) / sessions)
  return {
    name: 'memory',
    checks: [],
    notes: [
      [
        `Reopening the store with ${sessions.toLocaleString('en')} sessions took ${formatNumber(reopenMs)} ms.`,
        "Growth outside the JavaScript heap is not broken down; up to 64 MB of it may be SQLite's page cache.",
      ].join(' '),
    ],
    tables: [
      {
        title: `${sessions.toLocaleString('en')} idle sessions`,
        columns: ['', 'before MB', 'after MB', 'bytes per session'],
        rows: [
          ['process (RSS)', mb(before.rssBytes), mb(after.rssBytes), each(before.rssBytes, after.rssBytes)],
          [
            'JavaScript heap',
            mb(before.heapBytes),
            mb(after.heapBytes),
            each(before.heapBytes, after.heapBytes),
          ],
          [
            'disk (log and views)',
            mb(before.diskBytes),
            mb(after.diskBytes),
            each(before.diskBytes, after.diskBytes),
          ],
        ],
      },
    ],
  }
}
