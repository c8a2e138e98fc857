/** Times, counts and ends in words that stay short. */
import type { Outcome } from '../../model/event.ts'
import { oneLine } from './width.ts'

/** `0.4s`, `12s`, `2m 05s`, `1h 02m`. */
export function timeWords(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole}s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes}m ${two(whole % 60)}s`
  return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`
}

/** `12s ago`, `5m ago`, `3h ago`, `2d ago`. */
export function agoWords(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1000)
  const [count, unit] =
    seconds < 60
      ? [seconds, 's']
      : seconds < 3600
        ? [seconds / 60, 'm']
        : seconds < 86_400
          ? [seconds / 3600, 'h']
          : [seconds / 86_400, 'd']
  return `${Math.floor(count)}${unit} ago`
}

/** Time that is left, in the largest unit that changes calmly. */
export function leftWords(ms: number): string {
  const seconds = Math.ceil(Math.max(0, ms) / 1000)
  if (seconds <= 120) return `${seconds}s left`
  return `${Math.floor(seconds / 60)}m left`
}

const two = (count: number): string => String(count).padStart(2, '0')

/** `12,345`: the same on every machine, whatever its language is. */
export const countWords = (count: number): string => String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',')

/** The outcome and its cause; a cause that begins with the outcome does not say it twice. */
export function endWords(outcome: Outcome, error: string | null): string {
  const words = outcome.replaceAll('_', ' ')
  const cause = oneLine(error ?? '')
  if (cause === '') return words
  return cause.startsWith(`${outcome}: `)
    ? `${words}: ${cause.slice(outcome.length + 2)}`
    : `${words}: ${cause}`
}
