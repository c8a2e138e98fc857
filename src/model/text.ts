/** Cuts of text. Every cut is between code points, never inside one, whatever the unit of the limit is. */

/** Whether a cut before `at` would fall between the two halves of a code point. */
const splits = (text: string, at: number): boolean => /^[\ud800-\udbff]$/.test(text.charAt(at - 1)) && /^[\udc00-\udfff]$/.test(text.charAt(at))

/** The longest start of `text` of at most `units` UTF-16 units that does not split a code point. */
export function headUnits(text: string, units: number): string {
  if (text.length <= units) return text
  return text.slice(0, splits(text, units) ? units - 1 : units)
}

function tailUnits(text: string, units: number): string {
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

export const byteLength = (text: string): number => Buffer.byteLength(text, 'utf8')

/** At most `bytes` bytes of UTF-8, cut between code points. */
export function cutBytes(text: string, bytes: number): { text: string; truncated: boolean } {
  if (text.length * 3 <= bytes || byteLength(text) <= bytes) return { text, truncated: false }
  const buffer = Buffer.from(text, 'utf8')
  let end = bytes
  while (end > 0 && ((buffer[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return { text: buffer.toString('utf8', 0, end), truncated: true }
}

export type CountTokens = (text: string) => number

/** Head and tail of `text` within `tokensMax`, with a line between them that says what is missing and how to read it. */
export function cutTokens(text: string, tokensMax: number, count: CountTokens, hint: string): { text: string; truncated: boolean } {
  // A token is at least one byte of UTF-8, so a short text needs no counting.
  if (text === '' || text.length * 3 <= tokensMax || (text.length <= tokensMax * 64 && count(text) <= tokensMax)) return { text, truncated: false }
  const fits = (part: string, tokens: number): boolean => count(part) <= tokens
  const head = (tokens: number): string => longest((units) => headUnits(text, units), tokens, fits)
  // Parts may have more tokens together than alone, so the whole is counted again.
  for (let room = tokensMax - count(hint) - 2; room > 0; room -= Math.max(1, Math.ceil(room / 8))) {
    const tail = longest((units) => tailUnits(text, units), Math.floor(room / 4), fits)
    const cut = `${head(Math.ceil((room * 3) / 4))}\n${hint}\n${tail}`
    if (fits(cut, tokensMax)) return { text: cut, truncated: true }
  }
  return { text: head(tokensMax), truncated: true }
}

/** Binary search for the longest cut that fits; the first guess is four units a token. */
function longest(cut: (units: number) => string, tokens: number, fits: (part: string, tokens: number) => boolean): string {
  if (tokens <= 0) return ''
  let low = 0
  let high = tokens * 8
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(cut(middle), tokens)) low = middle
    else high = middle - 1
  }
  return cut(low)
}
