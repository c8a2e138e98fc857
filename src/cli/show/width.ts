/** How wide text is on a terminal, and how to cut it without splitting a grapheme. */

let segmenter: Intl.Segmenter | undefined
/** Created on first use: it takes 10 ms, and most commands never need it. */
const splitGraphemes = (text: string): Iterable<Intl.SegmentData> =>
  (segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })).segment(text)
const narrow = /^[\x20-\x7e\u00a0-\u02ff]*$/
const scripts = ['Han', 'Hiragana', 'Katakana', 'Hangul'].map((name) => `\\p{Script=${name}}`).join('')
const wide = new RegExp(
  `\\p{Emoji_Presentation}|\\ufe0f|[${scripts}\\u3000-\\u303e\\uff01-\\uff60\\uffe0-\\uffe6]`,
  'u',
)
const nothing = /^[\p{Mark}\p{Format}]*$/u

const graphemeWidth = (grapheme: string): number => (nothing.test(grapheme) ? 0 : wide.test(grapheme) ? 2 : 1)

export function displayWidth(text: string): number {
  if (narrow.test(text)) return text.length
  let width = 0
  for (const { segment } of splitGraphemes(text)) width += graphemeWidth(segment)
  return width
}

/** The text, or as much of its start as fits with an ellipsis. */
export function cutWidth(text: string, widthMax: number): string {
  if (widthMax <= 0) return ''
  // Nothing beyond this can be visible, so it is not measured.
  const near = text.slice(0, widthMax * 16)
  if (near.length === text.length && displayWidth(near) <= widthMax) return text
  let cut = ''
  let width = 0
  for (const { segment } of splitGraphemes(near)) {
    const next = width + graphemeWidth(segment)
    if (next > widthMax - 1) break
    cut += segment
    width = next
  }
  return `${cut.trimEnd()}…`
}

/** Characters that could move the cursor, or change the reading direction of what follows. */
const unsafe = /[\p{Control}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu

/** Text of an agent as one line that is safe to print. */
export const oneLine = (text: string): string =>
  text.toWellFormed().replaceAll(unsafe, ' ').replaceAll(/ {2,}/g, ' ').trim()

/** The first line that is not blank. */
export const firstLine = (text: string): string =>
  oneLine(text.split('\n').find((line) => line.trim() !== '') ?? '')
export const lastLine = (text: string): string =>
  oneLine(text.split('\n').findLast((line) => line.trim() !== '') ?? '')

const between = '  '
/** A column that is wider than this does not push the others away. */
const columnMax = 32

/** The title over the lines, each column below its word. What is below a line's first row stays as it is. */
export function alignColumns(title: string, lines: readonly string[]): string[] {
  const count = title.split(between).length
  const rows = [title, ...lines].map((line) => {
    const [first = '', ...below] = line.split('\n')
    const parts = first.split(between)
    return { parts: [...parts.slice(0, count - 1), parts.slice(count - 1).join(between)], below }
  })
  const whole = rows.filter(({ parts }) => parts.length === count)
  const widths = Array.from({ length: count - 1 }, (_, column) =>
    Math.min(columnMax, Math.max(...whole.map(({ parts }) => displayWidth(parts[column] ?? '')))),
  )
  const pad = (text: string, column: number): string =>
    text + ' '.repeat(Math.max(0, (widths[column] ?? 0) - displayWidth(text)))
  return rows.map(({ parts, below }) => [parts.map(pad).join(between).trimEnd(), ...below].join('\n'))
}
