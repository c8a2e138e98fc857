/** Private keys between `-----BEGIN … PRIVATE KEY-----` and their end, which is missing in a cut text. */
import type { Found, ProbeSet } from './secret-probes.ts'
import { isDigitCode, isLetterCode, Run, type Look } from './secret-runs.ts'

const begin = '-----BEGIN '
const dashes = '-----'
const end = '-----END '
const kindMax = 64
/** Lines of base64 have 64 characters; a shorter word may be prose. */
const lineMin = 16

export function privateKey(): ProbeSet {
  const run = new Run('armour')
  /** The next end at or after a place, looked for once: keys that only begin must not search again. */
  let close = -1
  let number = 0
  const probe = (look: Look, at: number): Found | null => {
    const { text, from } = look
    const start = at - dashes.length
    if (start < from || !text.startsWith(begin, start)) return null
    const body = afterLabel(text, start + begin.length)
    if (body < 0) return null
    if (close < body || number !== look.number) close = indexOrEnd(text, body)
    number = look.number
    const last = close < run.end(look, body) ? afterLabel(text, close + end.length) : -1
    if (last >= 0) return { start, end: last }
    const cut = endOfLines(text, body)
    return cut > body ? { start, end: cut } : null
  }
  return { pairs: ['-B'], probe }
}

function indexOrEnd(text: string, from: number): number {
  const found = text.indexOf(end, from)
  return found < 0 ? text.length : found
}

/** Where the line ends that says which private key this is; -1 where it says something else. */
function afterLabel(text: string, from: number): number {
  const label = text.slice(from, from + kindMax)
  const close = label.indexOf(dashes)
  if (close < 0) return -1
  const kind = label.slice(0, close)
  return kind.endsWith('PRIVATE KEY') || kind.endsWith('PRIVATE KEY BLOCK')
    ? from + close + dashes.length
    : -1
}

/** Lines of base64, with plain or escaped breaks between them. Without a dash, no other key begins inside. */
function endOfLines(text: string, from: number): number {
  let [last, at] = [from, from]
  while (at < text.length) {
    at = afterBreak(text, at)
    const start = at
    while (at < text.length && isBase64(text.charCodeAt(at))) at += 1
    // The last line is short; a word of prose that follows has a blank after it.
    const isLast = at === text.length || !isBlank(text.charCodeAt(at))
    if (at === start || (at - start < lineMin && !(isLast && last > from))) return last
    last = at
  }
  return last
}

const isBlank = (code: number): boolean => code === 32 || code === 9
const isBase64 = (code: number): boolean =>
  isLetterCode(code) || isDigitCode(code) || code === 43 || code === 47 || code === 61

function afterBreak(text: string, from: number): number {
  let at = from
  for (; at < text.length; at += 1) {
    if (text.charCodeAt(at) === 92) at += 1
    else if (!' \t\r\n'.includes(text.charAt(at))) break
  }
  return at
}
