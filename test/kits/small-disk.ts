/** A real disk of a few megabytes, so that a full one is really full. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export type SmallDisk = {
  path: string
  /** Leaves no byte free, or about so many. */
  fill(leaveBytes?: number): void
  empty(): void
}

function mount(path: string, sizeMb: number): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m`, 'tmpfs', path], { stdio: 'pipe' })
}

/** Whether this machine lets the tests mount one: mostly root on Linux. */
export const hasSmallDisks = ((): boolean => {
  const path = mkdtempSync(join(tmpdir(), 'tieline-mount-'))
  try {
    mount(path, 1)
    execFileSync('umount', [path])
    return true
  } catch {
    console.warn('tests of a full disk are skipped: only root on Linux can mount a tmpfs')
    return false
  } finally {
    rmdirSync(path)
  }
})()

/** `closing` is done before the disk goes away. */
export function smallDisk(sizeMb: number): SmallDisk & { atEnd(closing: () => Promise<unknown>): void } {
  const path = mkdtempSync(join(tmpdir(), 'tieline-disk-'))
  const closings: (() => Promise<unknown>)[] = []
  mount(path, sizeMb)
  onTestFinished(async () => {
    for (const closing of closings.toReversed()) await closing()
    execFileSync('umount', ['-l', path])
    rmdirSync(path)
  })
  const ballast = join(path, 'ballast')
  return {
    path,
    fill(leaveBytes = 0) {
      if (leaveBytes > 0) writeFileSync(`${ballast}-left`, Buffer.alloc(leaveBytes, 1))
      for (let bytes = 1024 * 1024, n = 0; bytes >= 512;) {
        try {
          writeFileSync(`${ballast}-${(n += 1)}`, Buffer.alloc(bytes, 1))
        } catch {
          bytes /= 2
        }
      }
      rmSync(`${ballast}-left`, { force: true })
    },
    empty: () => execFileSync('sh', ['-c', `rm -f ${ballast}-*`]),
    atEnd: (closing) => void closings.push(closing),
  }
}

export const removeLater = (path: string): void =>
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
