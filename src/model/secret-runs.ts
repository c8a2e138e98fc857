/**
 * Runs of characters of one alphabet, each read once. A question for the end of a run from inside
 * of it is answered from memory.
 * Starts are asked for from left to right, so all reading together is linear in the text, whatever the text
 * repeats.
 */

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const digits = '0123456789'
const quotes = '"\'`'

/** The characters of tokens. `value` is what may stand between quotes, also beyond ASCII. */
const alphabets = {
  hex: `${digits}abcdefABCDEF`,
  upper: `${digits}${letters.slice(0, 26)}`,
  alnum: digits + letters,
  word: `${digits}${letters}_`,
  dashed: `${digits}${letters}-`,
  base64: `${digits}${letters}+/=`,
  base64url: `${digits}${letters}_-`,
  dotted: `${digits}${letters}_.-`,
  path: `${digits}${letters}_/-`,
  plain: `${digits}${letters}_+/~%-`,
  header: `${digits}${letters}._~+/=-`,
  assigned: `${digits}${letters}._~+/=:!@#%^*-`,
  armour: `${digits}${letters}+/=:,.()_- \t\r\n\\`,
  value: Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at))
    .filter((one) => !`${quotes}[]\\`.includes(one))
    .join(''),
} as const
export type Alphabet = keyof typeof alphabets

const isLetter = buildTable(letters)
const isDigit = buildTable(digits)
const isHex = buildTable(alphabets.hex)
/** Shorter pieces of letters and digits are in many words and versions. */
const chunkMin = 10
const dot = 46

export function buildTable(characters: string): Uint8Array {
  const table = new Uint8Array(128)
  for (const one of characters) table[one.charCodeAt(0)] = 1
  return table
}

export const isLetterCode = (code: number): boolean => isLetter[code] === 1
export const isDigitCode = (code: number): boolean => isDigit[code] === 1
const isAlnum = (code: number): boolean => isLetter[code] === 1 || isDigit[code] === 1

/** One text that is being looked at. */
export type Look = {
  text: string
  /** Tells it from the text before: what is remembered of a text is of no use for the next. */
  number: number
  /** Where the last secret that was found ends. */
  from: number
  /** For what leaves the machine: better one too many. */
  readonly strict: boolean
}

/** Before every place. */
const none = -1

/** One alphabet's latest run. */
export class Run {
  readonly #table: Uint8Array
  readonly #beyond: boolean
  #number = none
  #begin = none
  #end = none
  #solid = none
  #lastDigit = none
  #lastLetter = none
  #lastChunk = none
  #fourthChange = none

  constructor(alphabet: Alphabet) {
    this.#table = buildTable(alphabets[alphabet])
    this.#beyond = alphabet === 'value'
  }

  /** The end of the run that `at` is in; `at` itself where there is none, or the last run begins later. */
  end({ text, number }: Look, at: number): number {
    if (at >= this.#end || number !== this.#number) {
      this.#number = number
      this.#read(text, at)
    }
    return at < this.#begin ? at : this.#end
  }

  /** The same without dots at the end: sentences end with one, tokens do not. */
  solidEnd(look: Look, at: number): number {
    return Math.min(this.end(look, at), Math.max(at, this.#solid))
  }

  /** These are about the part of the latest run from `at` on. */
  hasDigit = (at: number): boolean => this.#lastDigit >= at
  isMixed = (at: number): boolean => this.#lastDigit >= at && this.#lastLetter >= at
  /** Has a long piece of letters and digits: made by chance, unlike words with dashes and a year. */
  hasChunk = (at: number): boolean => this.#lastChunk >= at
  /** Letters and digits take turns at least four times: made by chance, unlike a name with a number. */
  changesOften = (at: number): boolean => this.#fourthChange > at

  #read(text: string, at: number): void {
    const table = this.#table
    let [lastDigit, lastLetter, lastChunk, chunk, solid] = [none, none, none, at, at]
    let [fourth, third, second, latest] = [none, none, none, none]
    let end = at
    for (; end < text.length; end += 1) {
      const code = text.charCodeAt(end)
      if (code < 128 ? table[code] === 0 : !this.#beyond) break
      if (code !== dot) solid = end + 1
      const digit = isDigit[code] === 1
      if (digit || isLetter[code] === 1) {
        if (end > chunk && digit === lastLetter > lastDigit)
          [fourth, third, second, latest] = [third, second, latest, end]
        if (digit) lastDigit = end
        else lastLetter = end
        if (end - chunk >= chunkMin - 1 && lastDigit >= chunk && lastLetter >= chunk) lastChunk = chunk
      } else chunk = end + 1
    }
    this.#begin = at
    this.#end = end
    this.#solid = solid
    this.#lastDigit = lastDigit
    this.#lastLetter = lastLetter
    this.#lastChunk = lastChunk
    this.#fourthChange = fourth
  }
}

/** Whether a token may begin here: not after a letter or digit, but after an escape such as `\n` or `%3D`. */
export function begins(text: string, at: number): boolean {
  if (at === 0) return true
  const before = text.charCodeAt(at - 1)
  if (!isAlnum(before)) return true
  if (text.charCodeAt(at - 2) === 92 && 'nrtbf'.includes(text.charAt(at - 1))) return true
  if (isHex[before] !== 1) return false
  return text.charCodeAt(at - 3) === 37 || (text.charCodeAt(at - 6) === 92 && text.charCodeAt(at - 5) === 117)
}
