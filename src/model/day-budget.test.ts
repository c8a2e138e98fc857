import { expect, test } from 'vitest'
import { dayLeft, nameBudget, refuseDay, tightest, toDay, type DayBudget } from './day-budget.ts'
import { explain } from './refusal.ts'

const dollar = 1_000_000_000
const server = (used: number): DayBudget => ({ of: 'server', max: 10 * dollar, used: used * dollar })
const project = (used: number): DayBudget => ({ of: 'project', max: 3 * dollar, used: used * dollar })

test('a day begins at midnight in UTC', () => {
  const midnight = Date.UTC(2026, 10, 18)
  expect(toDay(midnight) - toDay(midnight - 1)).toBe(1)
  expect(toDay(midnight + 86_399_999)).toBe(toDay(midnight))
})

test('of the budgets of a day the one counts that is used up first', () => {
  expect(tightest([])).toBeNull()
  expect(tightest([server(2), project(1)])).toEqual(project(1))
  expect(tightest([server(9), project(1)])).toEqual(server(9))
  expect(tightest([project(1), server(8)])).toEqual(project(1))
})

test('a budget that is passed has nothing left, and is refused with its numbers', () => {
  expect(dayLeft(project(4))).toBe(0)
  expect(refuseDay(null)).toBeNull()
  expect(refuseDay(project(2.9))).toBeNull()
  expect(refuseDay({ of: 'server', max: 3, used: 2 })).toBeNull()
  const refusal = refuseDay(project(3))
  expect(refusal).toStrictEqual({
    code: 'budget_exhausted',
    needed: 1,
    left: 0,
    usd: { max: 3 * dollar, used: 3 * dollar, day: 'project' },
  })
  if (refusal === null) throw new Error('it is refused')
  expect(explain(refusal)).toBe(
    'The project may spend $3.00 a day, and $3.00 of today (UTC) is spent. Finish with what you have: more can be ' +
      'spent after midnight UTC, or once a person has raised [limits] dayUsdMax.',
  )
  expect(nameBudget(server(1))).toBe('the budget of $10.00 a day of this server')
})
