/** Times, amounts and names as people read them. */
import type { CostView } from '../../src/wire/scalars.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** `340 ms`, `4.2 s`, `3 min 05 s`, `2 h 10 min` */
export function formatDuration(ms: number): string {
  if (ms < second) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10 * second) return `${(ms / second).toFixed(1)} s`
  if (ms < minute) return `${Math.round(ms / second)} s`
  if (ms < hour)
    return `${Math.floor(ms / minute)} min ${String(Math.floor((ms % minute) / second)).padStart(2, '0')} s`
  if (ms < day) return `${Math.floor(ms / hour)} h ${Math.floor((ms % hour) / minute)} min`
  return `${Math.floor(ms / day)} d ${Math.floor((ms % day) / hour)} h`
}

/** One unit only, for columns. */
export function formatAge(ms: number): string {
  if (ms < 10 * second) return 'now'
  if (ms < minute) return `${Math.floor(ms / second)} s`
  if (ms < hour) return `${Math.floor(ms / minute)} min`
  if (ms < day) return `${Math.floor(ms / hour)} h`
  return `${Math.floor(ms / day)} d`
}

/** `812`, `4.2k`, `310k`, `1.4M` */
export function formatAmount(count: number): string {
  if (count < 1000) return String(Math.round(count))
  if (count < 10_000) return `${(count / 1000).toFixed(1)}k`
  if (count < 1_000_000) return `${Math.round(count / 1000)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

/** `unpriced`, `$0`, `$0.0042`, `$0.231`, `$12.40` */
export function formatCost(usd: number | null): string {
  if (usd === null) return 'unpriced'
  if (usd === 0) return '$0'
  if (usd >= 1) return `$${usd.toFixed(2)}`
  return `$${usd >= 0.01 ? usd.toFixed(3) : usd.toFixed(Math.min(9, 1 - Math.floor(Math.log10(usd))))}`
}

/** `4.2k tokens, $0.231 ($0.1 of it on a plan), 300 tokens unpriced` */
export function describeUse({ tokensUsed, cost }: { tokensUsed: number; cost: CostView }): string {
  if (tokensUsed === 0) return ''
  const money = cost.usd === 0 ? '' : `, ${describeCost(cost)}`
  return `${formatAmount(tokensUsed)} tokens${money}`
}

/** `unpriced`, `$0.231 ($0.1 of it on a plan), 300 tokens unpriced` */
export function describeCost({ usd, planUsd, unpricedTokens }: CostView): string {
  if (usd === null) return 'unpriced'
  const plan =
    planUsd === 0
      ? ''
      : planUsd === usd
        ? ' (would have cost: on a plan)'
        : ` (${formatCost(planUsd)} of it on a plan)`
  const rest = unpricedTokens > 0 ? `, ${formatAmount(unpricedTokens)} tokens unpriced` : ''
  return `${formatCost(usd)}${plan}${rest}`
}

export const formatBytes = (count: number): string =>
  count < 1024
    ? `${count} B`
    : count < 1024 * 1024
      ? `${(count / 1024).toFixed(1)} KiB`
      : `${(count / 1024 / 1024).toFixed(1)} MiB`

const clockFormat = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})
const wholeFormat = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hour12: false,
})

export const formatTime = (at: number): string => clockFormat.format(at)
export const formatDateTime = (at: number): string => wholeFormat.format(at)

export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`

/** Keeps the last parts of a path, which distinguish it from others. */
export function shortenPath(path: string): string {
  const parts = path.split('/').filter((part) => part !== '')
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join('/')}`
}

/** Keeps the kind of an id and its end, which distinguishes it from others. */
export const shortenId = (id: string): string =>
  id.length <= 14 ? id : `${id.slice(0, id.indexOf('_') + 1)}…${id.slice(-6)}`

export const takeFirstLine = (text: string, charsMax = 160): string => {
  const line = text.trimStart().split('\n', 1)[0] ?? ''
  return line.length > charsMax ? `${line.slice(0, charsMax)}…` : line
}
