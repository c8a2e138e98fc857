/** How much of its plan's windows an agent says is used: each program has its own words for it. Pure. */
import type { Millis } from '../../model/id.ts'
import { isRecord } from '../../model/json.ts'
import { table } from '../../model/table.ts'
import type { ReportedWindow } from '../../runtime/kernel/driven-port.ts'
import { textAt } from './text-at.ts'

export const limitKey = (agent: string): string => `agent ${agent}`

const secondMs = 1000
const hourMinutes = 60
const dayMinutes = 24 * hourMinutes
const names = table({ five_hour: '5 hours', seven_day: 'week' })
const nameMax = 40
/** R11: of one agent. */
const limitsMax = 10

/** In `_meta` of a usage update. A window that does not say when it is reset is left out. */
export function readPlanWindows(meta: unknown): ReportedWindow[] {
  if (!isRecord(meta)) return []
  return [...readClaude(meta['_claude/rateLimit']), ...readCodex(meta['_codex/rateLimits'])]
}

/** One window with its share, or all of them at once. */
function readClaude(said: unknown): ReportedWindow[] {
  if (!isRecord(said)) return []
  const all = isRecord(said['unifiedWindows']) ? said['unifiedWindows'] : {}
  const one = { [textAt(said, 'rateLimitType') || 'plan']: said, ...all }
  return Object.entries(one)
    .slice(0, limitsMax)
    .flatMap(([name, window]) =>
      isRecord(window) ? toWindow(names[name] ?? name, window['utilization'], window['resetsAt']) : [],
    )
}

/** Two windows for each limit, in percent and minutes. */
function readCodex(said: unknown): ReportedWindow[] {
  const limits: readonly unknown[] = Array.isArray(said) ? said.slice(0, limitsMax) : [said]
  return limits.flatMap((limit) =>
    isRecord(limit)
      ? [limit['primary'], limit['secondary']].flatMap((window) => {
          if (!isRecord(window) || typeof window['usedPercent'] !== 'number') return []
          const named =
            limits.length > 1 ? ` (${textAt(limit, 'limitName') || textAt(limit, 'limitId')})` : ''
          return toWindow(
            `${nameMinutes(window['windowDurationMins'])}${named}`,
            window['usedPercent'] / 100,
            window['resetsAt'],
          )
        })
      : [],
  )
}

function nameMinutes(minutes: unknown): string {
  if (typeof minutes !== 'number' || !(minutes > 0)) return 'plan'
  if (minutes === 7 * dayMinutes) return 'week'
  const [count, unit] =
    minutes % dayMinutes === 0
      ? [minutes / dayMinutes, 'day']
      : minutes % hourMinutes === 0
        ? [minutes / hourMinutes, 'hour']
        : [Math.round(minutes), 'minute']
  return count === 1 ? unit : `${count} ${unit}s`
}

function toWindow(name: string, used: unknown, resets: unknown): ReportedWindow[] {
  const resetsAt = readTime(resets)
  if (typeof used !== 'number' || !Number.isFinite(used) || resetsAt === null) return []
  return [
    {
      name: name.replaceAll('_', ' ').slice(0, nameMax).toWellFormed(),
      used: Math.min(1, Math.max(0, used)),
      resetsAt,
    },
  ]
}

/** Seconds since 1970, or a date in words. */
function readTime(value: unknown): Millis | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value * secondMs : null
  // oxlint-disable-next-line no-restricted-globals -- a given time becomes a number; none is read
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isFinite(ms) ? ms : null
}
