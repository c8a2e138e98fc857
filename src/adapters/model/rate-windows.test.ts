import { expect, test } from 'vitest'
import { readRateWindows } from './rate-windows.ts'

const now = 1_788_000_000_000

test("Anthropic's rate limits and the windows of its plan are read from the headers of an answer", () => {
  expect(
    readRateWindows(
      {
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '40',
        'anthropic-ratelimit-requests-reset': new Date(now + 60_000).toISOString(),
        'anthropic-ratelimit-unified-7d-utilization': '0.62',
        'anthropic-ratelimit-unified-7d-reset': String(now / 1000 + 3600),
        'content-type': 'text/event-stream',
      },
      now,
    ),
  ).toEqual([
    { name: 'requests', used: expect.closeTo(0.2), resetsAt: now + 60_000 },
    { name: 'week', used: 0.62, resetsAt: now + 3_600_000 },
  ])
})

test.each([
  ['6m0s', 360_000],
  ['1.5s', 1500],
  ['20ms', 20],
  ['1h2m3s', 3_723_000],
])("OpenAI's rate limits are read, with a reset in %s", (reset, ms) => {
  const headers = {
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '250',
    'x-ratelimit-reset-tokens': reset,
  }
  expect(readRateWindows(headers, now)).toEqual([{ name: 'tokens', used: 0.75, resetsAt: now + ms }])
})

test('a header that is cut, strange or alone says nothing', () => {
  expect(
    readRateWindows(
      {
        'x-ratelimit-remaining-tokens': '250',
        'x-ratelimit-limit-requests': '0',
        'x-ratelimit-remaining-requests': '0',
        'anthropic-ratelimit-unified-5h-utilization': 'half',
        'anthropic-ratelimit-unified-5h-reset': String(now / 1000),
        'anthropic-ratelimit-tokens-limit': '10',
        'anthropic-ratelimit-tokens-remaining': '1',
        'anthropic-ratelimit-tokens-reset': 'soon',
      },
      now,
    ),
  ).toEqual([])
})

test('R11: of many windows so many are read', () => {
  const names = Array.from({ length: 30 }, (_, n) => String.fromCharCode(97 + (n % 26)).repeat(1 + n / 26))
  const headers = names.flatMap((name) => [
    [`x-ratelimit-limit-${name}`, '10'],
    [`x-ratelimit-remaining-${name}`, '5'],
    [`x-ratelimit-reset-${name}`, '1s'],
  ])
  const read = readRateWindows(Object.fromEntries(headers) as Record<string, string>, now)
  expect(read.map(({ name }) => name)).toEqual(names.slice(0, 10))
})
