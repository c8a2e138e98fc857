import { expect, test } from 'vitest'
import { telemetrySettings } from './telemetry-settings.ts'

const read = (env: Record<string, string>) =>
  telemetrySettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...env }, '1', () => undefined)

test('the queue of spans holds one batch at least', () => {
  const [batch, queue] = ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 'OTEL_BSP_MAX_QUEUE_SIZE']
  const sizes = (env: Record<string, string>) => [read(env)?.batchMax, read(env)?.queueMax]
  expect(sizes({})).toEqual([512, 2048])
  expect(sizes({ [batch]: '4000', [queue]: '10' })).toEqual([4000, 4000])
  expect(sizes({ [batch]: '10', [queue]: '20' })).toEqual([10, 20])
})
