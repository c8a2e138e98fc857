/** R7 in tokens: what a call holds of what its caller has left. */

/**
 * What a call holds of its caller's budget: by default half of what is left, so that siblings can run too. A
 * client's turn asks for one thing only, so that has all of it.
 */
export function reserveTokens(
  wanted: number | undefined,
  left: number | null,
  needed: number,
  isAlone: boolean,
): number | null {
  if (left === null) return wanted ?? null
  const share = isAlone ? left : Math.ceil(left / 2)
  return Math.max(0, Math.min(left, wanted ?? Math.max(share, needed)))
}
