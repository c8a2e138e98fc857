/** Compares what both have of numbers. */
export function isOlder(version: string, least: string): boolean {
  const [has, needs] = [version, least].map((text) => (text.match(/\d+/g) ?? []).slice(0, 3).map(Number))
  for (const [at, needed] of (needs ?? []).entries()) {
    const own = has?.[at] ?? 0
    if (own !== needed) return own < needed
  }
  return false
}
