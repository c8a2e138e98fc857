import { expect, test } from 'vitest'
import type { Numbers } from '../../wire/server.ts'
import { renderCosts, writeCost } from './cost-lines.ts'

const cost = (usd: number | null, planUsd = 0, unpricedTokens = 0) => ({ usd, planUsd, unpricedTokens })
const sum = (name: string, input: number, of: ReturnType<typeof cost>, estimated = false) => ({
  name,
  input,
  output: 0,
  estimated,
  cost: of,
})

const numbers = {
  complete: true,
  tokens: sum('', 3500, cost(1.5, 0.5, 500), true),
  agents: [
    { name: 'claude', outcomes: {}, tokens: sum('', 3000, cost(1.5, 0.5)), latency: null },
    { name: 'local', outcomes: {}, tokens: sum('', 500, cost(null, 0, 500), true), latency: null },
    { name: 'idle', outcomes: {}, tokens: sum('', 0, cost(0)), latency: null },
  ],
  days: [sum('2026-11-17', 3500, cost(1.5, 0.5, 500))],
  prices: { table: 'a-table', version: '1', date: '2026-09-23' },
} as unknown as Numbers

test('what was spent is listed next to the tokens, with the sum and where its prices come from', () => {
  expect(renderCosts(numbers, 'agent')).toEqual([
    'claude  $1.50 ($0.500 of it on a plan)  3,000 tokens',
    'local  unpriced  500 tokens, part estimated',
    'all  $1.50 ($0.500 of it on a plan) and 500 unpriced tokens  3,500 tokens, part estimated  ' +
      '(prices of a-table, 2026-09-23)',
  ])
  expect(renderCosts(numbers, 'day')[0]).toMatch(/^2026-11-17 {2}\$1\.50/)
})

test('what has no price is unpriced, never 0, and what a plan covers is marked', () => {
  expect(writeCost(cost(null, 0, 7))).toBe('unpriced')
  expect(writeCost(cost(0))).toBe('$0')
  expect(writeCost(cost(0.25, 0.25))).toBe('$0.250 (would have cost: on a plan)')
})
