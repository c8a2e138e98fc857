/**
 * A function that looks up what it has worked out before. R11: of at most `countMax` different inputs; then it
 * begins again.
 */
export function remembered<In, Out extends NonNullable<unknown>>(
  compute: (given: In) => Out,
  countMax: number,
): (given: In) => Out {
  const known = new Map<In, Out>()
  return (given) => {
    const before = known.get(given)
    if (before !== undefined) return before
    const found = compute(given)
    if (known.size === countMax) known.clear()
    known.set(given, found)
    return found
  }
}
