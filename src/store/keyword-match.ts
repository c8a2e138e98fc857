/**
 * Whether a text contains one of many keywords, in time that grows with the text and not with the keywords.
 * Looking for one after another costs their number times the text, and a text made for it makes each of them
 * slow too: 20,000 keywords over 11 MB took 67 s.
 */

export type KeywordMatcher = {
  /** Pauses (by yielding) after every so many units, so that its caller can let others run. */
  search(text: string): Generator<undefined, boolean>
}

/** Below this product of sizes, searching one keyword after another is faster than the automaton. */
const plainWorkMax = 400_000
const unitsPerPause = 32_768

/** Keywords are lower-cased already; texts are lower-cased here. */
export function keywordMatcher(keywords: readonly string[]): KeywordMatcher {
  const units = keywords.reduce((sum, keyword) => sum + keyword.length, 0)
  let automaton: Automaton | null = null
  return {
    *search(text) {
      const lower = text.toLowerCase()
      if (lower.length * units <= plainWorkMax) return keywords.some((keyword) => lower.includes(keyword))
      automaton ??= buildAutomaton(keywords)
      let state = 0
      for (let from = 0; from < lower.length; from += unitsPerPause) {
        if (from > 0) yield
        state = scan(automaton, state, lower, from, Math.min(lower.length, from + unitsPerPause))
        if (state === found) return true
      }
      return false
    },
  }
}

/** Aho–Corasick: a trie, and for every node the longest proper suffix that is a node. Node 0 is the root. */
type Automaton = {
  next: Map<number, number>
  fails: readonly number[]
  ends: readonly boolean[]
  starts: Uint8Array
}

const found = -1
const unitValues = 0x1_0000

function buildAutomaton(keywords: readonly string[]): Automaton {
  const next = new Map<number, number>()
  const ends = [false]
  const edges: { from: number; unit: number; to: number }[] = []
  const starts = new Uint8Array(unitValues)
  for (const keyword of keywords) {
    let node = 0
    starts[keyword.charCodeAt(0)] = 1
    for (let at = 0; at < keyword.length; at += 1) {
      const unit = keyword.charCodeAt(at)
      let to = next.get(node * unitValues + unit)
      if (to === undefined) {
        to = ends.push(false) - 1
        next.set(node * unitValues + unit, to)
        edges.push({ from: node, unit, to })
      }
      node = to
    }
    ends[node] = true
  }
  return { next, ends, starts, fails: linkSuffixes(next, ends, edges) }
}

/** Shorter nodes first: the links that a node's own link follows from are there by then. */
function linkSuffixes(
  next: Map<number, number>,
  ends: boolean[],
  edges: readonly { from: number; unit: number; to: number }[],
): number[] {
  const depths = ends.map(() => 0)
  // An edge was noted after the one to its beginning.
  for (const { from, to } of edges) depths[to] = (depths[from] ?? 0) + 1
  const fails = ends.map(() => 0)
  for (const { from, unit, to } of edges.toSorted((a, b) => (depths[a.to] ?? 0) - (depths[b.to] ?? 0))) {
    if (from === 0) continue
    let node = fails[from] ?? 0
    while (node !== 0 && !next.has(node * unitValues + unit)) node = fails[node] ?? 0
    const fail = next.get(node * unitValues + unit) ?? 0
    fails[to] = fail
    if (ends[fail] === true) ends[to] = true
  }
  return fails
}

/** The state after these units, or `found`. */
function scan(
  { next, fails, ends, starts }: Automaton,
  from: number,
  text: string,
  start: number,
  end: number,
): number {
  let state = from
  for (let at = start; at < end; at += 1) {
    const unit = text.charCodeAt(at)
    if (state === 0 && starts[unit] === 0) continue
    let to = next.get(state * unitValues + unit)
    while (to === undefined && state !== 0) {
      state = fails[state] ?? 0
      to = next.get(state * unitValues + unit)
    }
    state = to ?? 0
    if (ends[state] === true) return found
  }
  return state
}
