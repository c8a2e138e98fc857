import { describe, expect, test } from 'vitest'
import type { Json } from '../model/json.ts'
import { createMasker } from '../model/mask-secrets.ts'
import { isoTime } from '../runtime/kernel/system-clock.ts'
import { logSink, type LogOptions, type LogSink } from './log-lines.ts'

const clock = { now: () => 1_800_000_000_123, elapsed: () => 0, sleep: () => Promise.resolve() }

function sink(more: Partial<LogOptions> = {}): { log: LogSink; lines: string[] } {
  const lines: string[] = []
  return {
    lines,
    log: logSink({
      level: 'info',
      write: (line) => lines.push(line),
      clock,
      time: isoTime,
      json: true,
      colour: false,
      ...more,
    }),
  }
}
const parsed = (line: string | undefined): Record<string, Json> =>
  JSON.parse(line ?? '') as Record<string, Json>

describe('as JSON', () => {
  test('a line is one object with time, level, message and fields', () => {
    const { log, lines } = sink()
    log('warn', 'the disk is\nslow', { ms: 12, path: '/x', list: [1, null] })
    expect(lines).toEqual([
      '{"time":"2027-01-15T08:00:00.123Z","level":"warn","message":"the disk is\\nslow",' +
        '"ms":12,"path":"/x","list":[1,null]}\n',
    ])
  })

  test('no field takes the place of what every line has', () => {
    const { log, lines } = sink()
    log('info', 'yes', { level: 'fake', message: 'no', time: 0 })
    expect(parsed(lines[0])).toMatchObject({
      level: 'info',
      message: 'yes',
      _level: 'fake',
      _message: 'no',
      _time: 0,
    })
  })
})

describe('for people', () => {
  test('a line has the time of day, the level, the message and the fields', () => {
    const { log, lines } = sink({ json: false })
    log('info', 'listening', { port: 8283, host: '127.0.0.1', note: 'two words' })
    expect(lines).toEqual(['08:00:00.123 info  listening port=8283 host=127.0.0.1 note="two words"\n'])
  })

  test('levels have colours where they are wanted', () => {
    const { log, lines } = sink({ json: false, colour: true })
    log('error', 'no')
    expect(lines[0]).toContain('\u001b[31merror\u001b[0m')
  })

  test('what was said can neither begin a line nor move the cursor', () => {
    const { log, lines } = sink({ json: false })
    log('info', 'a\nerror b\u001b[2J\r', { x: '\u001b]0;t\u0007', 'n\n': '\u2028' })
    expect(lines[0]?.slice(0, -1)).not.toMatch(/\p{Cc}|\u2028/u)
    expect(lines[0]).toContain(String.raw`a\nerror b\u001b[2J\u000d`)
  })
})

test('what is below the level is not written', () => {
  const { log, lines } = sink({ level: 'warn' })
  for (const level of ['debug', 'info', 'warn', 'error'] as const) log(level, level)
  expect(lines.map((line) => parsed(line)['message'])).toEqual(['warn', 'error'])
})

test('secrets are taken out: by the name of the field, by their shape, and those that are known', () => {
  const { log, lines } = sink({ masker: createMasker(['correct-horse']) })
  const key = `sk-${'a1'.repeat(12)}`
  log('info', `using ${key} and correct-horse`, {
    apiKey: 'abc',
    headers: { authorization: `Bearer ${key}` },
    text: `see ${key}`,
    plain: 'left',
  })
  expect(lines[0]).not.toMatch(/sk-|correct-horse|"abc"/)
  expect(parsed(lines[0])).toMatchObject({
    message: expect.stringMatching(/^using \[redacted\] and \[redacted\]$/),
    plain: 'left',
  })
})

test('R11: nothing makes a line long without end', () => {
  const { log, lines } = sink()
  let deep: Json = 'x'
  for (let n = 0; n < 50; n += 1) deep = { deep }
  log('info', 'm'.repeat(1_000_000), {
    long: 'v'.repeat(1_000_000),
    deep,
    many: Array.from({ length: 10_000 }, () => 1),
    wide: Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`k${n}`, n])),
  })
  log('info', 'fields', Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`k${n}`, n])))
  expect(lines[0]?.length).toBeLessThan(12_000)
  expect(JSON.stringify(parsed(lines[0])['deep']).length).toBeLessThan(100)
  expect(parsed(lines[0])['message']).toMatch(/… \(1000000 characters\)$/)
  expect(parsed(lines[1])['fieldsLeftOut']).toBe(968)
})

test('a secret that is cut by the bound is not shown in part', () => {
  const { log, lines } = sink({ masker: createMasker(['correct-horse-battery-staple']) })
  log('info', `${'m'.repeat(3980)}correct-horse-battery-staple`)
  expect(lines[0]).not.toContain('correct-horse')
})

test('a writer that throws ends nothing', () => {
  expect(() =>
    sink({
      write: () => {
        throw new Error('full')
      },
    }).log('error', 'x'),
  ).not.toThrow()
})
