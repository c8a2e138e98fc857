/**
 * Text that others wrote, as it may be shown on a terminal: nothing in it acts. Characters that would move
 * the cursor, change the terminal or turn
 * the reading direction are shown as what they are; tabs and line breaks stay.
 */

/** C0 but tab and line feed, DEL, C1, separators, and what embeds, overrides or isolates a direction. */
const acting = /\r\n|[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
const pictures = 0x2400
const deletePicture = '\u2421'

export const visible = (text: string): string => text.replaceAll(acting, shownAs)

function shownAs(char: string): string {
  // A carriage return alone goes back to the beginning of the line, and lets what follows hide it.
  if (char === '\n' || char === '\t' || char === '\r\n') return char
  const code = char.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(pictures + code)
  return code === 0x7f ? deletePicture : `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
}

/** JSON of which no character acts, and which says the same: what JSON leaves as it is, is escaped too. */
export const visibleJson = (value: unknown): string =>
  (JSON.stringify(value) ?? 'null').replaceAll(
    acting,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
