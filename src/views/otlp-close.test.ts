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

test('whoever closes does not wait until a collector that is gone was asked again and again', async () => {
  const { out: mine, clock } = exporter({ OTEL_BSP_SCHEDULE_DELAY: '1234' }, 'http://127.0.0.1:1')
  mine.add(spans(1))
  await mine.close()
  expect([clock.slept, mine.dropped()]).toEqual([[1234], 1])
})
