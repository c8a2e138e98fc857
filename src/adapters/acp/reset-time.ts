/** When an agent's limit is reset, as it says it in words: each program has its own. Pure. */
import type { Millis } from '../../model/id.ts'

const secondMs = 1000
const units: readonly (readonly [RegExp, Millis])[] = [
  [/(\d{1,4}) ?d(?:ays?)?\b/i, 86_400 * secondMs],
  [/(\d{1,5}) ?h(?:(?:ou)?rs?)?\b/i, 3600 * secondMs],
  [/(\d{1,6}) ?m(?:in(?:ute)?s?)?\b/i, 60 * secondMs],
  [/(\d{1,8}) ?s(?:ec(?:ond)?s?)?\b/i, secondMs],
]
/** `usage limit reached|1763485200` */
const epoch = /\|(\d{10})\b/
/** `try again in 2 hours 5 minutes`, `resets in 3h` */
const after = /\b(?:again|resets?|retry) (?:in|after) ((?:\d{1,8} ?[a-z]+[ ,]*(?:and )?){1,4})/i
/** `Try again at 5:30 PM`, `resets 5pm` */
const clockTime = /\b(?:again at|resets?(?: at)?) (\d{1,2})(?::(\d\d))? ?([ap])\.?m/i

/** How long from now; null where it does not say it in words that are known. */
export function readResetMs(text: string, now: Millis): Millis | null {
  const seconds = epoch.exec(text)?.[1]
  if (seconds !== undefined) return Math.max(0, Number(seconds) * secondMs - now)
  const duration = after.exec(text)?.[1]
  if (duration !== undefined) {
    const ms = units.reduce((sum, [unit, each]) => sum + Number(unit.exec(duration)?.[1] ?? 0) * each, 0)
    if (ms > 0) return ms
  }
  const [, hour, minute = '0', half] = clockTime.exec(text) ?? []
  return hour === undefined
    ? null
    : untilClock(Number(hour), Number(minute), half?.toLowerCase() === 'p', now)
}

/** The next time that a clock on this machine shows it. */
function untilClock(hour: number, minute: number, isAfternoon: boolean, now: Millis): Millis | null {
  if (hour < 1 || hour > 12 || minute > 59) return null
  // oxlint-disable-next-line no-restricted-globals -- a given time, in the user's time zone
  const then = new Date(now)
  then.setHours((hour % 12) + (isAfternoon ? 12 : 0), minute, 0, 0)
  if (then.getTime() <= now) then.setDate(then.getDate() + 1)
  return then.getTime() - now
}
