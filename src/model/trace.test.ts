import { describe, expect, test } from 'vitest'
import {
  formatTraceparent,
  isSampled,
  parseTraceparent,
  findRootTurn,
  stepSpanId,
  toTraceId,
  parseTrace,
  renderTraceparent,
  turnSpanId,
} from './trace.ts'

const example = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const all = { follow: true, ratio: 1 }

describe('a traceparent', () => {
  test('is read, and written as it was', () => {
    expect(parseTraceparent(example)).toEqual({
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '00f067aa0ba902b7',
      sampled: true,
    })
    for (const text of [example, example.replace(/01$/, '00')])
      expect(formatTraceparent(parseTraceparent(text) ?? { traceId: '', spanId: '', sampled: false })).toBe(
        text,
      )
    expect(parseTraceparent(` ${example} `)?.sampled).toBe(true)
  })

  test('has other flags besides the one for sampling, which are not looked at', () => {
    expect(parseTraceparent(example.replace(/01$/, '02'))?.sampled).toBe(false)
    expect(parseTraceparent(example.replace(/01$/, 'ff'))?.sampled).toBe(true)
  })

  test('of a later version may go on after the fields that are known', () => {
    expect(parseTraceparent(`${example.replace(/^00/, '01')}-more`)?.spanId).toBe('00f067aa0ba902b7')
    expect(parseTraceparent(example.replace(/^00/, '42'))?.sampled).toBe(true)
  })

  test.each([
    ['nothing', null],
    ['an empty text', ''],
    ['something else', 'hello'],
    ['ids of zeros', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
    ['a span of zeros', `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`],
    ['version ff', example.replace(/^00/, 'ff')],
    ['more than version 00 has', `${example}-more`],
    ['capitals', example.toUpperCase()],
    ['a short trace id', '00-4bf92f35-00f067aa0ba902b7-01'],
    ['a huge one', `01${example.slice(2)}-${'x'.repeat(1000)}`],
  ])('is not %s', (_what, text) => expect(parseTraceparent(text)).toBeNull())
})

describe('ids of spans', () => {
  test('are known from the turn alone, the same everywhere, and valid', () => {
    expect(turnSpanId('turn_1')).toBe(turnSpanId('turn_1'))
    expect([turnSpanId('turn_1'), stepSpanId('turn_1', 'k'), toTraceId('flow_1').slice(16)]).toEqual([
      expect.stringMatching(/^[0-9a-f]{16}$/),
      expect.stringMatching(/^[0-9a-f]{16}$/),
      expect.stringMatching(/^[0-9a-f]{16}$/),
    ])
    expect(
      parseTraceparent(
        formatTraceparent({ traceId: toTraceId('flow_1'), spanId: turnSpanId('turn_1'), sampled: true }),
      ),
    ).not.toBeNull()
  })

  test('differ between turns, steps and their occurrences', () => {
    const ids = [
      turnSpanId('turn_1'),
      turnSpanId('turn_2'),
      stepSpanId('turn_1', 'k'),
      stepSpanId('turn_1', 'k#2'),
      stepSpanId('turn_2', 'k'),
    ]
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('the turn that began a flow is known from the flow', () =>
    expect(findRootTurn('flow_7')).toBe('turn_7'))
})

describe('what a turn hands on', () => {
  const turn = { turn: 'turn_2', flow: 'flow_1' } as const

  test('is the trace of the request that began the flow, with the span of the turn or of its step', () => {
    expect(renderTraceparent({ ...turn, root: example, sampling: all })).toBe(
      `00-4bf92f3577b34da6a3ce929d0e0e4736-${turnSpanId('turn_2')}-01`,
    )
    expect(renderTraceparent({ ...turn, root: example, key: 'k', sampling: all })).toBe(
      `00-4bf92f3577b34da6a3ce929d0e0e4736-${stepSpanId('turn_2', 'k')}-01`,
    )
  })

  test('is a trace of our own where nobody outside began one, or it was not readable', () => {
    for (const root of [null, 'nonsense'])
      expect(renderTraceparent({ ...turn, root, sampling: all })).toBe(
        `00-${toTraceId('flow_1')}-${turnSpanId('turn_2')}-01`,
      )
  })

  test('where no spans are exported: what came is passed on as it came, or nothing', () => {
    expect(renderTraceparent({ ...turn, root: example, sampling: null })).toBe(example)
    expect(renderTraceparent({ ...turn, root: null, sampling: null })).toBeNull()
  })

  test('says of an unsampled trace that it is one', () => {
    expect(renderTraceparent({ ...turn, root: example.replace(/01$/, '00'), sampling: all })).toMatch(/-00$/)
    expect(renderTraceparent({ ...turn, root: null, sampling: { follow: true, ratio: 0 } })).toMatch(/-00$/)
  })
})

test('a share of the traces is kept, always the same ones; a decision from elsewhere wins where followed', () => {
  const traces = Array.from({ length: 1000 }, (_, index) => parseTrace(`flow_${index}`, null))
  const kept = traces.filter((trace) => isSampled(trace, { follow: true, ratio: 0.25 })).length
  expect(kept).toBeGreaterThan(180)
  expect(kept).toBeLessThan(320)
  const unsampled = parseTrace('flow_1', example.replace(/01$/, '00'))
  expect([
    isSampled(unsampled, all),
    isSampled(unsampled, { follow: false, ratio: 1 }),
    isSampled(parseTrace('flow_1', example), { follow: true, ratio: 0 }),
  ]).toEqual([false, true, true])
})

test('ids are hashes of ours, the same on every machine and in every version', () => {
  expect(toTraceId('flow_1')).toBe('712d555cf8e6aaec2cbc54024dce29fa')
  expect(turnSpanId('turn_1')).toBe('ebb7974200533c3f')
  expect(stepSpanId('turn_1', 'k')).toBe('857cb8da75a5dd97')
})

test('a traceparent has at most 512 characters', () => {
  const later = `01${example.slice(2)}-`
  expect(parseTraceparent(later.padEnd(512, 'x'))).not.toBeNull()
  expect(parseTraceparent(later.padEnd(513, 'x'))).toBeNull()
  expect(parseTraceparent(undefined)).toBeNull()
  expect(parseTraceparent(`x${example}`)).toBeNull()
  expect(parseTraceparent(`${example}x`)).toBeNull()
  expect(parseTraceparent(example.replace('4bf9', '0000'))).not.toBeNull()
  expect(parseTraceparent(example.replace('4736-', '0000-'))).not.toBeNull()
  expect(parseTraceparent(example.replace('00f067aa', '0000f067'))).not.toBeNull()
  expect(parseTraceparent(example.replace('00f067aa0ba902b7', '10f067aa0ba90000'))).not.toBeNull()
})

test('a share of the traces is those whose last digits are below it', () => {
  const trace = (traceId: string) => ({ traceId, remote: null })
  const half = { follow: true, ratio: 0.5 }
  expect(isSampled(trace(`${'f'.repeat(19)}7${'f'.repeat(12)}`), half)).toBe(true)
  expect(isSampled(trace(`${'0'.repeat(19)}8${'0'.repeat(12)}`), half)).toBe(false)
  expect(isSampled(trace('f'.repeat(32)), { follow: false, ratio: 1 })).toBe(true)
  expect(isSampled(trace('0'.repeat(32)), { follow: false, ratio: 0 })).toBe(false)
})
