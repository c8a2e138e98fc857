/** How late the event loop of a process is, window by window: the longest delay of a timer in each. */
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Times are of the wall clock, so that those of several processes can be compared. */
export type Window = {
  from: number
  to: number
  maxMs: number
  /** How long its main thread has run meanwhile: what is missing, it waited for a core or for the disk. */
  ranMs?: number
}

export const wallNow = (): number => performance.timeOrigin + performance.now()

/**
 * A delay is seen when its timer comes at last, so it may stand in the window after the one in which it
 * began.
 */
export function watchLateness(everyMs: number, report: (window: Window) => void): () => void {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  let from = wallNow()
  let ran = process.threadCpuUsage()
  const timer = setInterval(() => {
    const to = wallNow()
    const { user, system } = process.threadCpuUsage(ran)
    const maxMs = delays.max > 0 && Number.isFinite(delays.max) ? delays.max / 1e6 : 0
    report({ from, to, maxMs, ranMs: (user + system) / 1000 })
    ran = process.threadCpuUsage()
    delays.reset()
    from = to
  }, everyMs)
  return () => {
    clearInterval(timer)
    delays.disable()
  }
}

const neighbourMs = 300

/** The latest that the other process was at that time. */
export function latest(windows: readonly Window[], from: number, to: number): number {
  return windows.reduce(
    (most, window) =>
      window.to >= from - neighbourMs && window.from <= to + neighbourMs
        ? Math.max(most, window.maxMs)
        : most,
    0,
  )
}

/** The longest delay beyond what a control process on the same machine saw at that time. */
export function longestBeyond(windows: readonly Window[], control: readonly Window[]): number {
  return windows.reduce(
    (most, window) => Math.max(most, window.maxMs - latest(control, window.from, window.to)),
    0,
  )
}
