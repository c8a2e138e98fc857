/** Times, counts and ends in few words. */
import type { Outcome } from '../../model/event.ts'
import { oneLine } from './width.ts'

/** `0.4s`, `12s`, `2m 05s`, `1h 02m`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole}s`
  const minutes = Math.floor(whole / 60)
  const pad = (count: number): string => String(count).padStart(2, '0')
  return minutes < 60
    ? `${minutes}m ${pad(whole % 60)}s`
    : `${Math.floor(minutes / 60)}h ${pad(minutes % 60)}m`
}

const units = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
  [1, 's'],
] as const

/** `12s ago`, `5m ago`, `3h ago`, `2d ago`. */
export function formatAgo(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1000)
  const [size, unit] = units.find(([least]) => seconds >= least) ?? [1, 's']
  return `${Math.floor(seconds / size)}${unit} ago`
}

/** In minutes as long as there are several, so that it does not change all the time. */
export function formatTimeLeft(ms: number): string {
  const seconds = Math.ceil(Math.max(0, ms) / 1000)
  return seconds <= 120 ? `${seconds}s left` : `${Math.floor(seconds / 60)}m left`
}

/** `12,345`, whatever the locale of the machine is. */
/** With two digits or more, in units of a thousand. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const step = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  const size = bytes / 1000 ** step
  return `${step === 0 || size >= 100 ? size.toFixed(0) : size.toFixed(1)} ${units[step]}`
}

export const formatCount = (count: number): string => String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',')

/** `one turn`, `2 turns`. */
export const countNoun = (count: number, noun: string): string =>
  count === 1 ? `one ${noun}` : `${count} ${noun}s`

/** The outcome and its cause, which may already begin with the outcome. */
export function describeEnd(outcome: Outcome, error: string | null): string {
  const words = outcome.replaceAll('_', ' ')
  const cause = oneLine(error ?? '')
  return cause === ''
    ? words
    : `${words}: ${cause.startsWith(`${outcome}: `) ? cause.slice(outcome.length + 2) : cause}`
}
