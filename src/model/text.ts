/** Cuts of text. Every cut is between code points, never inside one, whatever the unit of the limit is. */

/** Whether a cut before `at` would fall between the two halves of a code point. */
const splits = (text: string, at: number): boolean =>
  /[\ud800-\udbff]/.test(text.charAt(at - 1)) && /[\udc00-\udfff]/.test(text.charAt(at))

/** The longest start of `text` of at most `units` UTF-16 units that does not split a code point. */
export function headUnits(text: string, units: number): string {
  return text.slice(0, splits(text, units) ? units - 1 : units)
}

/** The longest end, in the same way. */
export function tailUnits(text: string, units: number): string {
  if (text.length <= units) return text
  const start = text.length - units
  return text.slice(splits(text, start) ? start + 1 : start)
}

/** The first `count` code points. */
export function preview(text: string, count: number): string {
  const head = headUnits(text, count * 2)
  let units = 0
  let points = 0
  for (const point of head) {
    if (points === count) break
    units += point.length
    points += 1
  }
  return head.slice(0, units)
}

export const byteLength = (text: string): number => Buffer.byteLength(text)

const encoder = new TextEncoder()

/** At most `bytes` bytes of UTF-8, cut between code points. No more than that of a long text is looked at. */
export function cutBytes(text: string, bytes: number): { text: string; truncated: boolean } {
  if (text.length * 3 <= bytes) return { text, truncated: false }
  // Every unit takes a byte or more, so what is left out here could not fit.
  const head = text.slice(0, bytes)
  const { read } = encoder.encodeInto(head, new Uint8Array(bytes))
  return read === text.length ? { text, truncated: false } : { text: head.slice(0, read), truncated: true }
}

/** `gently` counts a long text in slices, between which others run. Left out where counting takes no time. */
export type CountTokens = { (text: string): number; gently?: (text: string) => Promise<number> }

/** Longer texts are counted gently where that is possible: hostile ones take some microseconds a unit. */
const unitsAtOnceMax = 2048

export const countGently = (count: CountTokens, text: string): number | Promise<number> =>
  text.length > unitsAtOnceMax && count.gently !== undefined ? count.gently(text) : count(text)

const samples = 8
const sampleUnits = 512

/**
 * The exact count of a short text. Of a long one, what parts spread evenly over it come to: for an estimate
 * that is needed now, in a time that does not grow with the text.
 */
export function countRoughly(count: (text: string) => number, text: string): number {
  if (text.length <= samples * sampleUnits) return count(text)
  const gap = (text.length - sampleUnits) / (samples - 1)
  let tokens = 0
  for (let n = 0; n < samples; n += 1) {
    const from = Math.round(n * gap)
    tokens += count(text.slice(from, from + sampleUnits))
  }
  return Math.ceil((tokens * text.length) / (samples * sampleUnits))
}

export type Cut = { text: string; truncated: boolean }

/** Head and tail of `text` within `tokensMax`; a line between them says what is missing and how to read it. */
export function cutTokens(text: string, tokensMax: number, count: CountTokens, hint: string): Cut {
  const cutting = cutInParts(text, tokensMax, hint)
  let step = cutting.next()
  while (step.done !== true) step = cutting.next(count(step.value))
  return step.value
}

/** The same, and others run meanwhile. */
export async function cutTokensGently(
  text: string,
  tokensMax: number,
  count: CountTokens,
  hint: string,
): Promise<Cut> {
  const cutting = cutInParts(text, tokensMax, hint)
  let step = cutting.next()
  while (step.done !== true) step = cutting.next(await countGently(count, step.value))
  return step.value
}

/** Yields texts to be counted, and is given their counts. */
type Counting<T> = Generator<string, T, number>

function* cutInParts(text: string, tokensMax: number, hint: string): Counting<Cut> {
  // A token is at least one byte of UTF-8, so a short text needs no counting.
  if (text === '' || text.length * 3 <= tokensMax || (yield* fitsWhole(text, tokensMax)))
    return { text, truncated: false }
  const head = (tokens: number): Counting<string> =>
    longest(
      (units) => headUnits(text, units),
      (part, from) => part.slice(from),
      tokens,
    )
  const tail = (tokens: number): Counting<string> =>
    longest(
      (units) => tailUnits(text, units),
      (part, from) => part.slice(0, part.length - from),
      tokens,
    )
  // Parts may have more tokens together than alone, so the whole is counted again.
  for (let room = tokensMax - (yield hint) - 2; room > 0; room -= Math.ceil(room / 8)) {
    const cut = `${yield* head(Math.ceil((room * 3) / 4))}\n${hint}\n${yield* tail(Math.floor(room / 4))}`
    if ((yield cut) <= tokensMax) return { text: cut, truncated: true }
  }
  return { text: yield* head(tokensMax), truncated: true }
}

/** Texts are counted in parts of so many units, so that a long one costs no more than what is kept of it. */
const partUnits = 256
/** So many tokens at most does a cut add. */
const tokensPerCut = 3

function* fitsWhole(text: string, tokensMax: number): Counting<boolean> {
  if (text.length > tokensMax * 64) return false
  let tokens = 0
  for (let from = 0; from < text.length; from += partUnits) {
    tokens += (yield text.slice(from, from + partUnits)) - tokensPerCut
    if (tokens > tokensMax) return false
  }
  return (yield text) <= tokensMax
}

/** The longest cut that fits: whole parts, then a binary search. `rest` is a cut without what was counted. */
function* longest(
  cut: (units: number) => string,
  rest: (part: string, from: number) => string,
  tokensMax: number,
): Counting<string> {
  let low = 0
  let tokens = 0
  for (const unitsMax = tokensMax * 8; low < unitsMax;) {
    const units = Math.min(unitsMax, low + partUnits)
    const more = yield rest(cut(units), cut(low).length)
    if (tokens + more > tokensMax) return yield* searchIn(cut, rest, low, units, tokensMax - tokens)
    tokens += more
    low = units
  }
  return cut(low)
}

function* searchIn(
  cut: (units: number) => string,
  rest: (part: string, from: number) => string,
  from: number,
  to: number,
  tokensMax: number,
): Counting<string> {
  let low = from
  let high = to
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((yield rest(cut(middle), cut(from).length)) <= tokensMax) low = middle
    else high = middle - 1
  }
  return cut(low)
}
