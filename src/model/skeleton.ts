/**
 * What a character looks like to a reader who does not look closely: lower-case ASCII for letters, digits,
 * brackets and slashes of every kind,
 * nothing for characters that are not seen. Only used to compare; no text is ever replaced by its skeleton.
 */
import { remembered } from './remembered.ts'

/** Line breaks of every kind; some readers take the separators U+001C to U+001E for breaks too. */
const lineBreaks = '\n\r\v\f\u0085\u2028\u2029\u001c\u001d\u001e'
/** U+2800 is an empty braille cell: it prints nothing, but Unicode does not call it a space. */
const blank = /[\p{White_Space}\u2800]/u
/** Controls, formats (bidi, zero width, soft hyphen), selectors, marks on letters, private use, half pairs. */
const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{M}]/u
const digit = /\p{Nd}/u

/** Look-alikes that Unicode's compatibility forms do not lead to ASCII, by what they look like. */
const lookAlikes: Record<string, string> = {
  '<': '‹˂ᐸ≺⋖⟨〈〈⧼❮❰❬⦑﹤＜◁◂◃◄',
  '>': '›˃ᐳ≻⋗⟩〉〉⧽❯❱❭⦒﹥＞▷▸▹►',
  '[': '［【〔〖〘〚⟦⁅⟬❲⦋⦍⦏⎡⎢⎣｢「『﹝﹇⌈⌊⸢⸤⧘⧚',
  ']': '］】〕〗〙〛⟧⁆⟭❳⦌⦎⦐⎤⎥⎦｣」』﹞﹈⌉⌋⸣⸥⧙⧛',
  '/': '／⁄∕⧸╱⟋⼃㇓〳⫽⫻ノ丿⧶',
  ':': '：﹕︓∶꞉ː˸։׃܃܄⁚ःઃ᛬︰᠃᠉⁝',
  '"': '“”„‟″‶〃＂ˮ״',
  _: '＿ˍߺ﹍﹎﹏',
  '-': '‐‑‒–—―−﹘﹣－⁃˗۔➖⸺⸻',
  a: 'аαɑᴀ∂⍺',
  b: 'ьвʙᏏƅ',
  c: 'сϲᴄ𐐽ҫ',
  d: 'ԁᴅɗꓒժ',
  e: 'еεҽєᴇ℮ꬲ',
  f: 'ғꞙϝẝք',
  g: 'ɡցɢԍᶃ',
  // These four are told apart by nobody.
  i: 'l1|іιɪıӏǀꭵʟℓⵏ',
  k: 'кκᴋⱪĸ',
  m: 'мᴍʍ',
  n: 'пηɴռո',
  o: '0оοᴏσօ०૦໐ഠ',
  p: 'рρᴘϱⲣ',
  r: 'гʀᴦꭇꮁɼ',
  s: 'ѕꜱʂտ',
  t: 'тτᴛ⊤ƭ',
  u: 'υսᴜʋ',
  v: 'ѵνᴠ∨',
  y: 'уүγʏყ',
}

const table = new Map<string, string>()
for (const [plain, others] of Object.entries(lookAlikes)) for (const other of others) table.set(other, plain)

/** Breaks are "\n", other blanks " ", unseen characters "", and what looks like no ASCII is "\0". */
function computeSkeleton(point: number): string {
  const char = String.fromCodePoint(point)
  if (lineBreaks.includes(char)) return '\n'
  if (blank.test(char)) return ' '
  if (unseen.test(char)) return ''
  const known = table.get(char)
  if (known !== undefined) return known
  if (digit.test(char)) {
    const value = String(valueOfDigit(point))
    return table.get(value) ?? value
  }
  const plain = char.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const shown = Array.from(plain, (one) => table.get(one) ?? one).join('')
  return /^[\x21-\x7e]+$/.test(shown) ? shown : '\0'
}

/** Digits of a script stand in rows of ten, zero first. */
function valueOfDigit(point: number): number {
  let before = 0
  while (digit.test(String.fromCodePoint(point - before - 1))) before += 1
  return before % 10
}

/** Looked up from the second time on: a text has many characters, and few different ones. */
export const toSkeleton = remembered(computeSkeleton, 0x10000)
