/**
 * What the record shows where a secret was. There is one mark for all: it says nothing about the secret and
 * does not depend on what anybody else wrote.
 */

export const secretMark = '[redacted]'

/** Logs that were written by 0.1 have numbered marks. */
export const markPattern = /\[redacted(?:-\d+)?\]/
const wholeMark = /^\[redacted(?:-\d+)?\]$/
const everyMark = /\[redacted(?:-\d+)?\]/g

export const isMark = (text: string): boolean => wholeMark.test(text)

/**
 * Whether a text that is on record may have been this one before its secrets were masked: equal but for the
 * marks.
 * Each mark stands for at least one character. Both texts come from outside, so the pieces between the marks
 * are found in linear time.
 */
export function isSameButMarks(recorded: string, given: string): boolean {
  if (recorded === given) return true
  const [first = '', ...rest] = recorded.split(everyMark)
  const last = rest.pop()
  if (last === undefined || !given.startsWith(first)) return false
  let at = first.length
  for (const piece of rest) {
    const found = findPiece(given, piece, at + 1)
    if (found < 0) return false
    at = found + piece.length
  }
  return given.endsWith(last) && given.length - last.length > at
}

/** The same where either side may have marks: a turn that runs again from its record passes marks on. */
export const isAlikeButMarks = (one: string, other: string): boolean =>
  isSameButMarks(one, other) || isSameButMarks(other, one)

/** `indexOf` is quadratic where a text nearly repeats the piece; this is linear (Knuth, Morris and Pratt). */
function findPiece(text: string, piece: string, from: number): number {
  if (piece.length < 16) return text.indexOf(piece, from)
  const back = new Int32Array(piece.length)
  for (let at = 1, length = 0; at < piece.length; at += 1) {
    while (length > 0 && piece.charCodeAt(at) !== piece.charCodeAt(length))
      length = back[length - 1] as number
    if (piece.charCodeAt(at) === piece.charCodeAt(length)) length += 1
    back[at] = length
  }
  for (let at = from, length = 0; at < text.length; at += 1) {
    while (length > 0 && text.charCodeAt(at) !== piece.charCodeAt(length)) length = back[length - 1] as number
    if (text.charCodeAt(at) === piece.charCodeAt(length)) length += 1
    if (length === piece.length) return at - length + 1
  }
  return -1
}
