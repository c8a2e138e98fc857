import { expect, test } from 'vitest'
import { readResetMs } from './reset-time.ts'

const [second, minute, hour] = [1000, 60_000, 3_600_000]
// oxlint-disable-next-line no-restricted-globals -- a fixed time, in whatever zone the test runs in
const noon = new Date(2026, 10, 18, 12, 0, 0).getTime()

test.each([
  [`Claude AI usage limit reached|${Math.floor(noon / second) + 3600}`, hour],
  ['You have hit your usage limit. Try again at 5pm.', 5 * hour],
  ['5-hour limit reached ∙ resets 5:30 PM', 5.5 * hour],
  ['limit reached, resets at 11am', 23 * hour],
  ['limit reached, resets 12:30pm', 0.5 * hour],
  ['limit reached, resets 12am', 12 * hour],
  ['limit reached, resets 12pm', 24 * hour],
  ['usage limit: try again in 2 hours 5 minutes', 2 * hour + 5 * minute],
  ['usage limit, try again in 1 day, 3 hours and 10 seconds.', 27 * hour + 10 * second],
  ['rate limit; retry after 20s', 20 * second],
  ['resets in 3h', 3 * hour],
  ['limit reached|1000000000', 0],
  ['quota exceeded', null],
  ['resets 25pm', null],
  ['resets 13pm', null],
  ['resets 0:30 am', null],
  ['try again in a while', null],
])('"%s" says when it is reset', (text, expected) => {
  expect(readResetMs(text, noon)).toBe(expected)
})
