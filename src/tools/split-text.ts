/**
 * Splits a text at every occurrence of another, in time that grows with the text, whatever both are.
 * The engine's own search compares the whole separator at every place of a text that was made for it: 400 kB
 * with one of 20 kB took 2 s, and ten times as much of both takes a hundred times as long.
 */
import { nextRound } from '../runtime/kernel/next-round.ts'

/** Below this product of sizes the engine's own search is fast enough, whatever the texts are. */
const plainWorkMax = 4_000_000
const unitsPerSlice = 131_072

/** The same as `text.split(separator)`, and others run meanwhile. The separator is not empty. */
export async function splitGently(text: string, separator: string): Promise<string[]> {
  if (text.length * separator.length <= plainWorkMax) return text.split(separator)
  const splitting = splitInSlices(text, separator)
  let step = splitting.next()
  while (step.done !== true) {
    await nextRound()
    step = splitting.next()
  }
  return step.value
}

/**
 * Knuth, Morris and Pratt's search: after a mismatch it goes on from what is known to match, and never looks
 * at a unit of the text twice.
 */
function* splitInSlices(text: string, separator: string): Generator<undefined, string[]> {
  const borders = yield* findBorders(separator)
  const pieces: string[] = []
  let from = 0
  let matched = 0
  for (let at = 0; at < text.length; at += 1) {
    if (at % unitsPerSlice === unitsPerSlice - 1) yield
    const unit = text.charCodeAt(at)
    while (matched > 0 && unit !== separator.charCodeAt(matched)) matched = borders[matched - 1] ?? 0
    if (unit === separator.charCodeAt(matched)) matched += 1
    if (matched < separator.length) continue
    pieces.push(text.slice(from, at + 1 - separator.length))
    from = at + 1
    // Occurrences do not overlap.
    matched = 0
  }
  pieces.push(text.slice(from))
  return pieces
}

/** For every start of the separator, how long its longest proper start is that is also its end. */
function* findBorders(separator: string): Generator<undefined, Uint32Array> {
  const borders = new Uint32Array(separator.length)
  let length = 0
  for (let at = 1; at < separator.length; at += 1) {
    if (at % unitsPerSlice === 0) yield
    const unit = separator.charCodeAt(at)
    while (length > 0 && unit !== separator.charCodeAt(length)) length = borders[length - 1] ?? 0
    if (unit === separator.charCodeAt(length)) length += 1
    borders[at] = length
  }
  return borders
}
