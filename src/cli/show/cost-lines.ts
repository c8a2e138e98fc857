/** What was spent by day, agent, project or model, next to the tokens. Pure. */
import { formatUsd, nanoPerUsd } from '../../model/money.ts'
import type { CostView } from '../../wire/scalars.ts'
import type { Numbers, TokenAmounts } from '../../wire/server.ts'
import { formatCount } from './amounts.ts'
import { oneLine } from './width.ts'

export const costGroups = ['day', 'agent', 'project', 'model'] as const
export type CostGroup = (typeof costGroups)[number]

type Sum = { name: string } & TokenAmounts

export const listCosts = (numbers: Numbers, by: CostGroup): Sum[] =>
  by === 'agent'
    ? numbers.agents
        .map(({ name, tokens }) => ({ ...tokens, name }))
        .filter(({ input, output }) => input + output > 0)
    : numbers[`${by}s`]

/** One line for each, and the sum of all with where its prices come from. */
export function renderCosts(numbers: Numbers, by: CostGroup): string[] {
  const sums = listCosts(numbers, by)
  if (sums.length === 0) return []
  const { table, date } = numbers.prices
  const counting = numbers.complete ? '' : ', while older requests are still being counted'
  return [
    ...sums.map(renderSum),
    `${renderSum({ ...numbers.tokens, name: 'all' })}  (prices of ${table}, ${date}${counting})`,
  ]
}

const renderSum = ({ name, input, output, estimated, cost }: Sum): string => {
  const tokens = `${formatCount(input + output)} tokens${estimated ? ', part estimated' : ''}`
  return [oneLine(name), writeCost(cost), tokens].join('  ')
}

const writeUsd = (usd: number): string => formatUsd(Math.round(usd * nanoPerUsd))

/** What has no price is unpriced, and never 0; what a plan covers is what it would have cost. */
export function writeCost({ usd, planUsd, unpricedTokens }: CostView): string {
  if (usd === null) return 'unpriced'
  const plan =
    planUsd === 0
      ? ''
      : planUsd === usd
        ? ' (would have cost: on a plan)'
        : ` (${writeUsd(planUsd)} of it on a plan)`
  return `${writeUsd(usd)}${plan}${unpricedTokens > 0 ? ` and ${formatCount(unpricedTokens)} unpriced tokens` : ''}`
}
