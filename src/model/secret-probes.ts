/**
 * Finds secrets that have no prefix of their own, each from one place that it must have: a private key, a
 * signed token, a password in an address, what follows `Bearer`, a bot's token.
 * A probe reads back and ahead only as far as a fixed number of characters, or by runs that are read once, or
 * up to where the next one would begin.
 */
import { begins, isDigitCode, isLetterCode, Run, buildTable, type Look } from './secret-runs.ts'

export type Found = { start: number; end: number }

/** `at` is the second character of the pair that called for it. */
export type Probe = (look: Look, at: number) => Found | null
export type ProbeSet = { pairs: readonly string[]; probe: Probe }

export const mayBegin = ({ text, from }: Look, at: number): boolean =>
  at === from || (at > from && begins(text, at))

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)
const dot = 46

/** Three parts with dots between them, the first two JSON in base64; what follows belongs to it. */
export function jsonWebToken(): ProbeSet {
  const [head, body, seal, whole] = [
    new Run('base64url'),
    new Run('base64url'),
    new Run('base64url'),
    new Run('dotted'),
  ]
  const probe: Probe = (look, at) => {
    const { text, strict } = look
    const start = at - 2
    if (text.charCodeAt(start) !== 101 || !mayBegin(look, start)) return null
    const first = head.end(look, start)
    if (
      first - start < 13 ||
      text.charCodeAt(first) !== dot ||
      !(strict || text.startsWith('eyJ', first + 1))
    )
      return null
    const second = body.end(look, first + 1)
    if (second - first < 10 || text.charCodeAt(second) !== dot || seal.end(look, second + 1) - second < 10)
      return null
    return { start, end: whole.solidEnd(look, start) }
  }
  return { pairs: ['yJ'], probe }
}

const userMax = 64
const passwordMax = 256
const endsUser = buildTable(':/@"\'')
const endsPassword = buildTable(':/@"\'[]\\')

/** `://user:password@`. Both parts end where another address could begin. */
export function addressPassword(): ProbeSet {
  const probe: Probe = ({ text, strict }, at) => {
    if (text.charCodeAt(at + 1) !== 47) return null
    const user = findEnd(text, at + 2, userMax, endsUser)
    if (text.charCodeAt(user) !== 58) return null
    const start = user + 1
    const end = findEnd(text, start, passwordMax, endsPassword)
    if (text.charCodeAt(end) !== 64 || end - start < (strict ? 3 : 8)) return null
    return strict || isMixed(text, start, end) ? { start, end } : null
  }
  return { pairs: [':/'], probe }
}

function findEnd(text: string, from: number, max: number, ends: Uint8Array): number {
  const limit = Math.min(text.length, from + max)
  let at = from
  for (; at < limit; at += 1) {
    const code = text.charCodeAt(at)
    if (isSpace(code) || ends[code] === 1) break
  }
  return at
}

function isMixed(text: string, start: number, end: number): boolean {
  let [letter, digit] = [false, false]
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at)
    if (isDigitCode(code)) digit = true
    else if (isLetterCode(code)) letter = true
  }
  return letter && digit
}

const schemes = ['bearer', 'basic'] as const
const blanksMax = 8

/** Where the blanks after `Bearer` or `Basic` end, if one of them begins at `at`; -1 otherwise. */
export function afterScheme(text: string, at: number): number {
  for (const scheme of schemes) {
    const end = at + scheme.length
    if (!isSpace(text.charCodeAt(end)) || text.slice(at, end).toLowerCase() !== scheme) continue
    let next = end
    while (next < end + blanksMax && isSpace(text.charCodeAt(next))) next += 1
    return next
  }
  return -1
}

export function schemeToken(): ProbeSet {
  const run = new Run('header')
  const probe: Probe = (look, at) => {
    const { text, strict } = look
    if (!mayBegin(look, at - 1)) return null
    const start = afterScheme(text, at - 1)
    if (start < 0) return null
    const end = run.solidEnd(look, start)
    return end - start >= (strict ? 8 : 16) && (strict || run.isMixed(start)) ? { start, end } : null
  }
  return { pairs: ['be', 'Be', 'BE', 'ba', 'Ba', 'BA'], probe }
}

/** `123456789:AA…`: the number of a bot, and its key. */
export function telegramToken(): ProbeSet {
  const run = new Run('base64url')
  const probe: Probe = (look, at) => {
    const { text } = look
    let start = at - 1
    while (start > look.from && at - start <= 16 && isDigitCode(text.charCodeAt(start - 1))) start -= 1
    if (at - 1 - start < 6 || !mayBegin(look, start)) return null
    const end = run.end(look, at)
    return end - at >= 35 && end - at <= 40 ? { start, end } : null
  }
  return { pairs: [':A'], probe }
}

const isUrlSafe = (code: number): boolean =>
  isLetterCode(code) || isDigitCode(code) || code === 45 || code === 95

/** Three parts with dots between them: a number in base64, a time of six characters, a seal. */
export function discordToken(): ProbeSet {
  const run = new Run('base64url')
  const probe: Probe = (look, at) => {
    const { text } = look
    if (text.charCodeAt(at + 7) !== dot) return null
    for (let place = at + 1; place < at + 7; place += 1) if (!isUrlSafe(text.charCodeAt(place))) return null
    let start = at
    while (start > look.from && at - start <= 30 && isUrlSafe(text.charCodeAt(start - 1))) start -= 1
    if (at - start < 23 || at - start > 28 || !'MNO'.includes(text.charAt(start)) || !mayBegin(look, start))
      return null
    const end = run.end(look, at + 8)
    return end - at - 8 >= 27 && run.hasDigit(at + 8) ? { start, end } : null
  }
  const before = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
  return { pairs: before.split('').map((one) => `${one}.`), probe }
}

/** The secret of an application of Microsoft Entra: three characters, a digit, `Q~`, then the rest. */
export function azureSecret(): ProbeSet {
  const run = new Run('header')
  const probe: Probe = (look, at) => {
    const { text } = look
    const start = at - 5
    if (start < look.from || !isDigitCode(text.charCodeAt(at - 2)) || !mayBegin(look, start)) return null
    const end = run.solidEnd(look, start)
    return end - at > 31 && end - at < 44 ? { start, end } : null
  }
  return { pairs: ['Q~'], probe }
}
