/** What a provider's headers say of its rate limits and its plan, each with the time of its reset. Pure. */
import type { Millis } from '../../model/id.ts'
import type { ReportedWindow } from '../../runtime/kernel/driven-port.ts'

const secondMs = 1000
/** `anthropic-ratelimit-input-tokens-remaining`, `x-ratelimit-remaining-requests` */
const remaining = /^(?:anthropic-ratelimit-([a-z-]{1,30})-remaining|x-ratelimit-remaining-([a-z-]{1,30}))$/
/** Of a plan, as a share: `anthropic-ratelimit-unified-5h-utilization` */
const utilization = /^anthropic-ratelimit-unified-(\d{1,3})([hd])-utilization$/
/** `6m0s`, `1.5s`, `20ms` */
const duration = /^(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,8}(?:\.\d{1,6})?)s)?(?:(\d{1,9})ms)?$/
/** R11 */
const windowsMax = 10

export function readRateWindows(
  headers: Readonly<Record<string, string | undefined>>,
  now: Millis,
): ReportedWindow[] {
  const found: ReportedWindow[] = []
  const add = (name: string, used: number, reset: string | undefined): void => {
    const resetsAt = readReset(reset ?? '', now)
    if (resetsAt !== null && Number.isFinite(used) && found.length < windowsMax)
      found.push({ name, used: Math.min(1, Math.max(0, used)), resetsAt })
  }
  for (const [header, value] of Object.entries(headers)) {
    const [, ofPlan, unit] = utilization.exec(header) ?? []
    if (ofPlan !== undefined) {
      const isWeek = unit === 'd' && ofPlan === '7'
      const name = isWeek ? 'week' : `${ofPlan} ${unit === 'd' ? 'days' : 'hours'}`
      add(name, Number(value), headers[header.replace('utilization', 'reset')])
      continue
    }
    const [, theirs, others] = remaining.exec(header) ?? []
    const what = theirs ?? others
    if (what === undefined) continue
    const max = Number(headers[header.replace('remaining', 'limit')])
    if (max > 0)
      add(what.replaceAll('-', ' '), 1 - Number(value) / max, headers[header.replace('remaining', 'reset')])
  }
  return found
}

/** A date, seconds since 1970, or a length of time from now. */
function readReset(text: string, now: Millis): Millis | null {
  if (/^\d{10}$/.test(text)) return Number(text) * secondMs
  const [whole, hours = 0, minutes = 0, seconds = 0, ms = 0] = duration.exec(text) ?? []
  if (whole !== undefined && whole !== '')
    return now + (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * secondMs + Number(ms)
  // oxlint-disable-next-line no-restricted-globals -- a given time becomes a number; none is read
  const at = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(at) ? at : null
}
