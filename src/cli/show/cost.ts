/** Money beside tokens, for people: empty where nothing has a price. Pure. */
import { formatUsd, nanoPerUsd } from '../../model/money.ts'
import type { CostView } from '../../wire/scalars.ts'
import { listChildren, type Tree, type TreeNode } from './tree.ts'

/** As `, $0.012`, to follow a count of tokens; with what is not in it. */
export function describeCost({ usd, planUsd, unpricedTokens }: CostView): string {
  if (usd === null || usd === 0) return ''
  const plan = planUsd === 0 ? '' : planUsd === usd ? ' on a plan' : `, ${renderUsd(planUsd)} of it on a plan`
  return `, ${renderUsd(usd)}${plan}${unpricedTokens > 0 ? ` and ${unpricedTokens} unpriced tokens` : ''}`
}

const renderUsd = (usd: number): string => formatUsd(Math.round(usd * nanoPerUsd))

/** In billionths of a dollar, including everything below: from its end, or the sum so far. */
export const sumMoney = (tree: Tree, node: TreeNode): number =>
  node.nanoUsdTotal ??
  listChildren(tree, node).reduce((sum, child) => sum + sumMoney(tree, child), node.nanoUsd)
