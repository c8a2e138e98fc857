/** Time as the browser has it. The only file of the page that reads a clock or sets a timer. */
import { useSyncExternalStore } from 'react'

export const now = (): number => Date.now()

/** Runs `work` once, later; the returned function calls it off. */
export function after(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms)
  return () => clearTimeout(timer)
}

/** Before the next picture is drawn; a tab that nobody sees draws none, so there it is a timer. */
export function soon(work: () => void): void {
  if (document.visibilityState === 'visible') requestAnimationFrame(work)
  else after(hiddenMs, work)
}
const hiddenMs = 200

/** Answers once with the newest of many changes, at most every `ms`. */
export function gathered(ms: number, work: () => void): () => void {
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

/** The time, once a second; one timer for the whole page. */
export const useNow = (): number =>
  useSyncExternalStore(subscribe, () =>
    listeners.size === 0 ? (ticked = Math.floor(now() / tickMs) * tickMs) : ticked,
  )
