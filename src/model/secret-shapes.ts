/** What looks like a secret: the names of fields and variables that hold one, and the shapes that keys have. */

type Env = Readonly<Record<string, string | undefined>>

/** `apiKey`, `x-api-key`, `access_token`, `Authorization`, `client_secret`, `set-cookie` and the like; not `tokens`, `tokenCount` or `keyboard`. */
const secretField = /(^|[-_.\s]|[a-z](?=[A-Z]))(api[-_]?keys?|access[-_]?keys?|private[-_]?keys?|token|secret|passwd|password|passphrase|authorization|cookie|credentials?)$/i
const secretVariable = /(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PAT|CREDENTIALS?|COOKIE)(_|$)/i
/** Say where a key is, or what it is called. */
const noSecretVariable = /_(FILE|PATH|DIR|NAME|ENV|TYPE|SOCK)$/i

export const isSecretField = (name: string): boolean => secretField.test(name)
export const isSecretVariable = (name: string): boolean => secretVariable.test(name)

/** `Bearer …` in a field of that name: the word is no secret. */
export const withoutScheme = (text: string): string => text.replace(/^(?:Bearer|Basic)\s+/i, '')

/** What is left in the place of a secret. */
export const markOf = (number: number): string => `[redacted-${number}]`
export const isMark = (text: string): boolean => /^\[redacted-\d+\]$/.test(text)

/** Whether a text that is on record may have been this one before its secrets were taken out: equal but for the marks. */
export function isSameButMarks(recorded: string, given: string): boolean {
  if (recorded === given) return true
  const [first = '', ...rest] = recorded.split(/\[redacted-\d+\]/)
  const last = rest.pop()
  if (last === undefined || !given.startsWith(first)) return false
  let at = first.length
  for (const piece of rest) {
    const found = given.indexOf(piece, at + 1)
    if (found < 0) return false
    at = found + piece.length
  }
  return given.endsWith(last) && given.length - last.length > at
}

/** Each has the secret as its only group, or as a whole. For texts that leave the machine: better one too many. */
export const shapes: readonly RegExp[] = [
  /\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,})/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g,
  /\b(?:Bearer|Basic)\s+([A-Za-z0-9._~+/=-]{8,})/gi,
  /:\/\/[^\s:/@]+:([^\s:/@]{3,})@/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----/g,
  /\b[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)=["']?([^\s"'&;]{8,})/g,
  /["'](?:api[-_]?key|access[-_]?token|token|secret|password|authorization|cookie)\\?["']\s*:\s*\\?["']([^"'\\]{6,})/gi,
]

/**
 * The same for texts that agents go on working with, where one too many would change what they were told: "basic knowledge" stays.
 * What any text may have by chance counts only where chance made it: with digits and letters, and long enough.
 */
export const firmShapes: readonly RegExp[] = [
  /(?<![A-Za-z0-9])(?:sk|pk|rk)-(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{16,}/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-(?=[A-Za-z0-9-]*[0-9])[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,})/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{7,}\.[A-Za-z0-9_-]{10,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----/g,
  /\b(?:Bearer|Basic)\s+((?=[^\s]*[0-9])(?=[^\s]*[A-Za-z])[A-Za-z0-9._~+/=-]{16,})/gi,
  /:\/\/[^\s:/@"']{1,64}:((?=[^\s@]*[0-9])(?=[^\s@]*[A-Za-z])[^\s:/@"'[\]\\]{8,256})@/g,
  /\b[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)=["']?((?=[^\s]*[0-9])(?=[^\s]*[A-Za-z])[A-Za-z0-9._~+/=:!@#%^*-]{10,})/g,
  /["'][A-Za-z0-9_-]{0,40}(?:api[-_]?key|access[-_]?key|token|secret|password|authorization|cookie)\\?["']\s*:\s*\\?["'](?:Bearer |Basic )?((?=[^"'\\]*[0-9])(?=[^"'\\]*[A-Za-z])[^\s"'\\[\]]{8,})/gi,
]

/**
 * One cheap look before the shapes: whether the text has a piece that one of them must have. Pieces that begin alike are looked for together, because the engine then skips ahead;
 * a pattern is tried only where a character is there that all of its matches have. The text must begin with something that is not part of it, such as a line break.
 */
export function hasHint(text: string): boolean {
  return bearerHint.test(text) || prefixHint.test(text) || (text.includes('=') && assignedHint.test(text)) || (text.includes('@') && addressHint.test(text))
    || ((text.includes('"') || text.includes("'")) && namedHint.test(text)) || text.includes('AKIA') || text.includes('AIza') || text.includes('.eyJ')
}

const bearerHint = /[Bb]earer\s|BEARER\s|[Bb]asic\s+[A-Za-z0-9+/=]{16}|BASIC\s+[A-Za-z0-9+/=]{16}/
const prefixHint = /[^a-z][spr]k-[A-Za-z0-9]|gh[pousr]_[A-Za-z0-9]|npm_[A-Za-z0-9]|ox[abprs]-[A-Za-z0-9]|pat[-_][A-Za-z0-9]/
const assignedHint = /KEY=|KEN=|RET=|ORD=/
const addressHint = /:\/\/[^\s:/@"']{1,64}:[^\s@"']{3,256}@/
const namedHint = /(?:[Kk]ey|KEY|oken|OKEN|cret|CRET|word|WORD|zation|ZATION|okie|OKIE)\\?["']\s*:\s*\\?["']/

/** A long one, which is looked for together with known secrets. */
export const privateKeyHint = 'PRIVATE KEY-----'

/** Values of variables that are named like keys. A plain word is none: it stands in too many texts for another reason, and guessing it needs no log. */
export function secretValues(env: Env): string[] {
  return Object.entries(env).flatMap(([name, value]) => (value !== undefined && secretVariable.test(name) && !noSecretVariable.test(name) && isWorthHiding(value.trim()) ? [value.trim()] : []))
}

/** At least eight characters, and not letters or digits alone, unless there are many. */
export const isWorthHiding = (value: string): boolean => value.length >= 16 || (value.length >= 8 && !/^(?:[A-Za-z]+|[0-9]+)$/.test(value))

/** Made by chance, as far as one can see: what was found once may be looked for everywhere. */
export const looksRandom = (value: string): boolean => value.length >= 12 && value.length <= 4096 && /[0-9]/.test(value) && /[A-Za-z]/.test(value) && !/\s/.test(value) && !value.includes('[redacted-')
