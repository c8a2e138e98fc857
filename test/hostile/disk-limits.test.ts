/** Faults of the disk that only the kernel can make: a file that may not grow, and an fsync that fails. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { removeLater } from '../kits/small-disk.ts'

const worker = fileURLToPath(new URL('./outage-worker.ts', import.meta.url))

function canRun(...command: [string, ...string[]]): boolean {
  const { status } = spawnSync(command[0], command.slice(1), { stdio: 'ignore', timeout: 10_000 })
  if (status !== 0)
    console.warn(`a test of a failing disk is skipped: "${command.join(' ')}" does not work here`)
  return status === 0
}
const hasLimits = canRun('sh', '-c', 'ulimit -S -f 1000 && prlimit --version')
const hasTracing = canRun('strace', '-qq', '-o', '/dev/null', '-e', 'inject=fsync:error=EIO:when=1', 'true')

type Said = { told: string[]; acknowledged: number; there: number; lost: string[] }

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-limits-'))
  removeLater(directory)
  return directory
}

const said = (command: string, args: readonly string[]): Said =>
  JSON.parse(execFileSync(command, args, { encoding: 'utf8', timeout: 60_000 })) as Said

test.skipIf(!hasLimits)(
  'R2: files that may not grow: nothing that was acknowledged is lost, and it goes on',
  () => {
    const script = 'ulimit -S -f 1000; exec "$0" "$@"'
    const { told, acknowledged, lost } = said('sh', [
      '-c',
      script,
      process.execPath,
      worker,
      scratch(),
      'lift',
    ])
    expect([told[0], told.at(-1), lost]).toEqual(['the log could not be written (disk I/O error)', 'ok', []])
    expect(acknowledged).toBeGreaterThan(0)
  },
  90_000,
)

test.skipIf(!hasTracing)(
  'R2: fsync fails for a while: nothing that was acknowledged is lost, and it goes on',
  () => {
    const fault = 'inject=fdatasync:error=EIO:when=12..15'
    const args = [
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      'trace=fdatasync',
      '-e',
      fault,
      process.execPath,
      worker,
      scratch(),
    ]
    // They are counted for each thread: the main thread makes the first few syncs, and another one the rest.
    const { told, acknowledged, lost } = said('strace', args)
    expect(told[0]).toBe('the log could not be written (EIO: i/o error, fdatasync)')
    expect([told.at(-1), lost]).toEqual(['ok', []])
    expect(acknowledged).toBeGreaterThan(0)
  },
  90_000,
)
