/** Processes that have a home of a test in their environment. */
import { readdirSync, readFileSync } from 'node:fs'

export function findLeftOver(home: string): { pid: number; line: string }[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      try {
        const [status = '', environment = '', line = ''] = ['status', 'environ', 'cmdline'].map((file) =>
          readFileSync(`/proc/${pid}/${file}`, 'latin1'),
        )
        return environment.includes(`HOME=${home}\0`) && !status.includes('State:\tZ')
          ? [{ pid: Number(pid), line: line.replaceAll('\0', ' ').slice(0, 100) }]
          : []
      } catch {
        // It ended meanwhile.
        return []
      }
    })
}

/** Daemons that a program leaves behind on purpose. */
export async function endLeftOver(home: string): Promise<void> {
  for (const { pid } of findLeftOver(home))
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
}
