/** The browser's clock. No other file of the page reads a clock or sets a timer. */
import { useSyncExternalStore } from 'react'

export const now = (): number => Date.now()
export const startOfDay = (at: number): number => new Date(at).setHours(0, 0, 0, 0)

/** Runs `work` once, later. Call the returned function to cancel it. */
export function after(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms)
  return () => clearTimeout(timer)
}

/** Runs before the next frame. A hidden tab draws no frames, so it uses a timer. */
export function runSoon(work: () => void): void {
  if (document.visibilityState === 'visible') requestAnimationFrame(work)
  else after(hiddenMs, work)
}
const hiddenMs = 200

/** However often it is called, runs `work` at most every `ms`. */
export function throttle(ms: number, work: () => void): () => void {
  let waiting = false
  return () => {
    if (waiting) return
    waiting = true
    after(ms, () => {
      waiting = false
      work()
    })
  }
}

const tickMs = 1000
let ticked = now()
let timer: ReturnType<typeof setInterval> | null = null
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    ticked = now()
    for (const one of listeners) one()
  }, tickMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }
}

/** The current time, updated every second by one timer for the whole page. */
export const useNow = (): number =>
  useSyncExternalStore(subscribe, () =>
    listeners.size === 0 ? (ticked = Math.floor(now() / tickMs) * tickMs) : ticked,
  )
