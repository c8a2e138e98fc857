import { describe, expect, test } from 'vitest'
import { findSpan, incoming, recordRun, secret, telemetryDesk } from '../../test/kits/telemetry.ts'
import { telemetryView } from './telemetry.ts'

const desk = telemetryDesk()
const { deps, exportSpans, warnings } = desk

test('without a collector in the environment there is no view at all', () => {
  for (const env of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: desk.out.url, OTEL_SDK_DISABLED: 'true' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: desk.out.url, OTEL_TRACES_EXPORTER: 'none' },
  ])
    expect(telemetryView({ ...deps(), env })).toBeNull()
})

test('an invalid address costs a warning, and exports nothing', () => {
  expect(telemetryView({ ...deps(), env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'collector' } })).toBeNull()
  expect(warnings.at(-1)).toContain('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is "collector"')
})

describe('content', () => {
  test('is not exported', async () => {
    await exportSpans(await recordRun())
    expect(JSON.stringify(desk.out.spans)).not.toMatch(/my key|use \[|sk-|"done"|first|second/)
  })

  test('is exported where it was asked for, without secrets', async () => {
    const spans = await exportSpans(
      await recordRun(),
      deps({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' }),
    )
    expect(
      JSON.parse(String(findSpan(spans, 'invoke_agent planner').attributes['gen_ai.input.messages'])),
    ).toEqual([{ role: 'user', parts: [{ type: 'text', content: 'my key is [redacted]' }] }])
    expect(
      JSON.parse(String(findSpan(spans, 'invoke_agent planner').attributes['gen_ai.output.messages'])),
    ).toEqual([{ role: 'assistant', parts: [{ type: 'text', content: 'done' }] }])
    expect(findSpan(spans, 'execute_tool sub_agent').attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"task":"use [redacted]","input":null}',
      'gen_ai.tool.call.result': '"done"',
    })
    expect(
      JSON.parse(
        String(
          spans.find((span) => span.attributes['gen_ai.operation.name'] === 'chat')?.attributes[
            'gen_ai.output.messages'
          ],
        ),
      ),
    ).toEqual([{ role: 'assistant', parts: [{ type: 'text', content: 'first' }], finish_reason: 'stop' }])
    expect(findSpan(spans, 'execute_tool list').attributes['gen_ai.tool.call.arguments']).toBe('{"path":"."}')
    expect(JSON.stringify(desk.out.spans)).not.toContain(secret)
  })

  test('is cut', async () => {
    const spans = await exportSpans(
      await recordRun(),
      deps({
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
        OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '30',
      }),
    )
    expect(String(findSpan(spans, 'execute_tool list').attributes['gen_ai.tool.call.result']).length).toBe(30)
  })
})

test('a trace that its beginner does not sample is not exported, nor one that we do not', async () => {
  const events = await recordRun(incoming.replace(/01$/, '00'))
  expect(await exportSpans(events)).toEqual([])
  expect(
    await exportSpans(await recordRun(), deps({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' })),
  ).toEqual([])
  expect((await exportSpans(events, deps({ OTEL_TRACES_SAMPLER: 'always_on' }))).length).toBeGreaterThan(3)
})

test('the service, its attributes and the path of the endpoint are those of the environment', async () => {
  const events = await recordRun()
  await exportSpans(
    events,
    deps({
      OTEL_SERVICE_NAME: 'ours',
      OTEL_RESOURCE_ATTRIBUTES: 'team=a%20b,service.name=other',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=abc%3D1',
    }),
  )
  expect(desk.out.requests[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'content-type': 'application/json', 'x-key': 'abc=1' },
    resource: { 'service.name': 'ours', team: 'a b', 'service.version': '9.9.9' },
  })
  await exportSpans(events, {
    ...deps(),
    env: {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${desk.out.url}/mine`,
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    },
  })
  expect(desk.out.requests[1]).toMatchObject({
    path: '/mine',
    headers: { 'content-encoding': 'gzip' },
    resource: { 'service.name': 'tieline' },
  })
})

test('unexpected events break nothing', () => {
  const view = telemetryView(deps())
  expect(() => view?.events([{ seq: 1, at: 0, event: null as never }])).not.toThrow()
})
