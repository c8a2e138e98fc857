import { afterEach, beforeEach, expect, test } from 'vitest'
import { collector, type Collector } from '../../test/kits/collector.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { otlpExport, type OtlpExport } from './otlp-export.ts'
import type { Span } from './otlp-json.ts'
import { telemetrySettings } from './telemetry-settings.ts'

let out: Collector
beforeEach(async () => {
  out = await collector()
})
afterEach(() => out.close())

const spans = (count: number, from = 0): Span[] =>
  Array.from({ length: count }, (_, index) => ({
    traceId: 'a'.repeat(32),
    spanId: `a${(from + index + 1).toString(16).padStart(15, '0')}`,
    parentId: null,
    remoteParent: false,
    name: `span ${from + index}`,
    kind: 'internal',
    startMs: 1000.4,
    endMs: 900,
    attributes: { text: 'a', number: 1, share: 0.5, yes: true, list: ['x'] },
    failed: false,
  }))

/**
 * Pauses pass at once and are noted; what only guards against slowness (the timeout, the closing time) waits
 * until `expire`.
 */
function testClock(guards: readonly number[]): Clock & { slept: number[]; expire(): void } {
  let now = 1_800_000_000_000
  const waiting = new Set<() => void>()
  const clock = {
    slept: [] as number[],
    now: () => now,
    elapsed: () => now,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        if (guards.includes(ms)) {
          waiting.add(resolve)
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
          return
        }
        clock.slept.push(ms)
        now += ms
        setImmediate(resolve)
      }),
    expire: () => waiting.forEach((resolve) => resolve()),
  }
  return clock
}

const timeoutMs = 7777
const closeMs = 3000

function exporter(
  more: Record<string, string> = {},
  url = out.url,
): { clock: ReturnType<typeof testClock>; warnings: string[]; out: OtlpExport } {
  const warnings: string[] = []
  const clock = testClock([timeoutMs, closeMs])
  const settings = telemetrySettings(
    { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TIMEOUT: String(timeoutMs), ...more },
    '1',
    (text) => warnings.push(text),
  )
  if (settings === null) throw new Error('no settings')
  return {
    clock,
    warnings,
    out: otlpExport({ settings, clock, version: '1', warn: (text) => warnings.push(text) }),
  }
}

test('spans are gathered, then sent in batches, and arrive as they are', async () => {
  const { out: mine, clock } = exporter({
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    OTEL_BSP_SCHEDULE_DELAY: '1234',
  })
  mine.add(spans(3))
  mine.add(spans(22, 3))
  await out.received(3)
  await mine.close()
  expect(clock.slept[0]).toBe(1234)
  expect(out.spans.map((span) => span.name)).toEqual(spans(25).map((span) => span.name))
  expect(out.spans[0]).toMatchObject({
    attributes: { text: 'a', number: 1, share: 0.5, yes: true, list: ['x'] },
    startTimeUnixNano: '1000000000',
    endTimeUnixNano: '1000000000',
    flags: 0x101,
    status: {},
  })
  expect(mine.dropped()).toBe(0)
})

test('a collector that fails is asked again after longer and longer pauses, and then gets everything', async () => {
  const { out: mine, clock } = exporter()
  out.answers.push(
    { status: 503 },
    { status: 502 },
    { status: 429, headers: { 'retry-after': '7' } },
    { status: 504 },
  )
  mine.add(spans(2))
  await out.received(5)
  await mine.close()
  const [, first = 0, second = 0, third = 0, fourth = 0] = clock.slept
  expect([
    first > 700 && first <= 1000,
    second > 1400 && second <= 2000,
    third,
    fourth > 5600 && fourth <= 8000,
  ]).toEqual([true, true, 7000, true])
  expect([out.spans.length, mine.dropped()]).toEqual([2, 0])
})

test('a collector that wants to be left alone for a day is asked again in half a minute', async () => {
  const { out: mine, clock } = exporter()
  out.answers.push({ status: 429, headers: { 'retry-after': '86400' } })
  mine.add(spans(2))
  await out.received(2)
  await mine.close()
  expect(clock.slept[1]).toBe(30_000)
  expect([out.spans.length, mine.dropped()]).toEqual([2, 0])
})

test('a collector that fails is given up after five tries, with one warning a minute', async () => {
  const { out: mine, warnings } = exporter()
  out.answers.push(...Array.from({ length: 10 }, () => ({ status: 503 })))
  mine.add(spans(2))
  await out.received(5)
  mine.add(spans(2))
  await out.received(10)
  await mine.close()
  expect(mine.dropped()).toBe(4)
  expect(warnings.map((text) => text.replace(/:\d+ answered/, ':<port> answered'))).toEqual([
    'telemetry: 2 spans were not exported so far: the collector at 127.0.0.1:<port> answered 503. ' +
      'Nothing else is affected.',
  ])
})

test('a collector that fails and says that the request is wrong is not asked again', async () => {
  const { out: mine } = exporter()
  out.answers.push({ status: 400 })
  mine.add(spans(1))
  while (mine.dropped() === 0 && out.requests.length < 2)
    await new Promise((resolve) => setImmediate(resolve))
  await mine.close()
  expect([out.requests.length, mine.dropped()]).toEqual([1, 1])
})

test('a collector that fails by taking only a part is believed, and not asked again', async () => {
  const { out: mine, warnings } = exporter()
  out.answers.push({ status: 200, body: { partialSuccess: { rejectedSpans: '1', errorMessage: 'no' } } })
  mine.add(spans(3))
  await out.received(1)
  await mine.close()
  expect([out.requests.length, mine.dropped(), warnings.length]).toEqual([1, 1, 1])
})

test('a collector that fails by being gone costs spans and nothing else', async () => {
  const gone = await collector()
  await gone.close()
  const { out: mine, warnings } = exporter({}, gone.url)
  mine.add(spans(1))
  await mine.close()
  expect(mine.dropped()).toBe(1)
  expect(warnings[0]).toContain('cannot be reached')
})

test('a collector that fails by sending elsewhere is not followed', async () => {
  const { out: mine } = exporter()
  out.answers.push({ status: 302, headers: { location: `${out.url}/elsewhere` } })
  mine.add(spans(1))
  await out.received(1)
  await mine.close()
  expect(out.requests.some(({ path }) => path === '/elsewhere')).toBe(false)
})

test('a collector that fails by not answering holds up neither the next spans nor the end', async () => {
  const { out: mine, clock } = exporter({
    OTEL_BSP_MAX_QUEUE_SIZE: '5',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
  })
  out.answers.push('hang', 'hang', 'hang')
  mine.add(spans(5))
  await out.received(1)
  for (let n = 0; n < 100; n += 1) mine.add(spans(3))
  expect(mine.dropped()).toBe(295)
  const closed = mine.close()
  clock.expire()
  await closed
  expect(mine.dropped()).toBe(305)
})

test('a collector that fails by not answering in time is asked again', async () => {
  const { out: mine, clock } = exporter()
  out.answers.push('hang')
  mine.add(spans(1))
  await out.received(1)
  clock.expire()
  await out.received(2)
  await mine.close()
  expect([out.spans.length, mine.dropped()]).toEqual([1, 0])
})

test('nothing is taken after the end', async () => {
  const { out: mine } = exporter()
  await mine.close()
  mine.add(spans(1))
  const other = exporter().out
  other.add(spans(1, 1))
  await out.received(1)
  await other.close()
  expect(out.spans.map((span) => span.name)).toEqual(['span 1'])
})

test('whoever closes does not wait until a collector that is gone was asked again and again', async () => {
  const { out: mine, clock } = exporter({ OTEL_BSP_SCHEDULE_DELAY: '1234' }, 'http://127.0.0.1:1')
  mine.add(spans(1))
  await mine.close()
  expect([clock.slept, mine.dropped()]).toEqual([[1234], 1])
})
