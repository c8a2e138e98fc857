import { expect, test } from 'vitest'
import { readPlanWindows } from './plan-windows.ts'

const at = 1_788_021_600

test("Claude's windows are read, one with each update or all at once", () => {
  expect(
    readPlanWindows({
      '_claude/rateLimit': {
        status: 'allowed_warning',
        rateLimitType: 'five_hour',
        utilization: 0.82,
        resetsAt: at,
      },
    }),
  ).toEqual([{ name: '5 hours', used: 0.82, resetsAt: at * 1000 }])
  const unifiedWindows = {
    five_hour: { utilization: 0.41, resetsAt: at },
    seven_day_opus: { utilization: 1.4, resetsAt: new Date(at * 1000).toISOString() },
  }
  expect(readPlanWindows({ '_claude/rateLimit': { unifiedWindows } })).toEqual([
    { name: '5 hours', used: 0.41, resetsAt: at * 1000 },
    { name: 'seven day opus', used: 1, resetsAt: at * 1000 },
  ])
})

test("Codex's windows are read, in percent and minutes, with their limit's name where there are several", () => {
  const primary = { usedPercent: 25, windowDurationMins: 300, resetsAt: at }
  const secondary = { usedPercent: 48, windowDurationMins: 10_080, resetsAt: at }
  expect(readPlanWindows({ '_codex/rateLimits': [{ limitId: 'codex', primary, secondary }] })).toEqual([
    { name: '5 hours', used: 0.25, resetsAt: at * 1000 },
    { name: 'week', used: 0.48, resetsAt: at * 1000 },
  ])
  const fast = { limitId: 'fast', primary: { ...primary, windowDurationMins: 60 }, secondary: null }
  const named = readPlanWindows({ '_codex/rateLimits': [{ limitId: 'codex', secondary }, fast] })
  expect(named.map(({ name }) => name)).toEqual(['week (codex)', 'hour (fast)'])
})

test('what is no window, or does not say when it is reset, is left out', () => {
  for (const meta of [
    null,
    'x',
    {},
    { '_claude/rateLimit': 3 },
    { '_claude/rateLimit': { utilization: 0.4 } },
    { '_claude/rateLimit': { utilization: 'much', resetsAt: at } },
    { '_codex/rateLimits': [null, { primary: 1 }, { primary: { usedPercent: '4', resetsAt: at } }] },
    { '_codex/rateLimits': { primary: { usedPercent: 4, resetsAt: 'never' } } },
  ])
    expect(readPlanWindows(meta)).toEqual([])
})

test('a window may have any name: those that every object has are names too, and of too many the first count', () => {
  const window = { utilization: 0.5, resetsAt: at }
  for (const rateLimitType of ['constructor', '__proto__', 'toString'])
    expect(readPlanWindows({ '_claude/rateLimit': { rateLimitType, ...window } })).toMatchObject([
      { name: rateLimitType.replaceAll('_', ' '), used: 0.5 },
    ])
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`window ${n}`, window]))
  expect(readPlanWindows({ '_claude/rateLimit': { unifiedWindows: many } }).length).toBeLessThanOrEqual(10)
})
