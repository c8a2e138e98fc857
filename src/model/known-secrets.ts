/**
 * Finds the secrets that the server itself knows, whole or cut: so much of the start or the end of one, or
 * half of it, counts.
 * Every character is hashed with the two before it; only where this is the hash of the end of a piece is the
 * piece compared.
 */
import type { Found } from './secret-probes.ts'
import { isWorthHiding } from './secret-shapes.ts'

const partMin = 12
export const hashMax = 4095
/** Depends on the lower halves of the last three characters only. */
export const nextHash = (hash: number, code: number): number => ((hash << 4) ^ (code & 255)) & hashMax

/** Where the whole of `secret` is, or as much of it as is there, of which a piece lies between two places. */
type Extend = (text: string, secret: string, start: number, end: number) => Found
type Piece = { text: string; secret: string; extend: Extend }

export type KnownSecrets = {
  /** Which hashes are worth a look. */
  readonly hashes: Uint8Array
  /** The secret of which a piece ends with the character at `at`. */
  find(text: string, at: number, hash: number): Found | null
}

export function knownSecrets(values: readonly string[]): KnownSecrets {
  const pieces = new Map<number, Piece[]>()
  for (const secret of new Set(values.filter(isWorthHiding).flatMap(listForms))) {
    const length = Math.max(partMin, Math.ceil(secret.length / 2))
    for (const piece of [
      { text: secret.slice(0, length), secret, extend: forwards },
      { text: secret.slice(-length), secret, extend: backwards },
    ]) {
      const hash = hashEnd(piece.text)
      pieces.set(hash, [...(pieces.get(hash) ?? []), piece])
    }
  }
  const hashes = new Uint8Array(hashMax + 1)
  for (const hash of pieces.keys()) hashes[hash] = 1
  return {
    hashes,
    find(text, at, hash) {
      let found: Found | null = null
      for (const piece of pieces.get(hash) ?? []) {
        const start = at + 1 - piece.text.length
        if (start < 0 || !text.startsWith(piece.text, start)) continue
        const whole = piece.extend(text, piece.secret, start, at + 1)
        found =
          found === null
            ? whole
            : { start: Math.min(found.start, whole.start), end: Math.max(found.end, whole.end) }
      }
      return found
    },
  }
}

/** As it is written in JSON and in an address, where that is something else. */
const listForms = (value: string): string[] => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value.toWellFormed()),
]

const hashEnd = (text: string): number =>
  [3, 2, 1].reduce((hash, back) => nextHash(hash, text.charCodeAt(text.length - back)), 0)

// Beyond either end there is no character, which equals nothing.
const forwards: Extend = (text, secret, start, from) => {
  let end = from
  while (text.charCodeAt(end) === secret.charCodeAt(end - start)) end += 1
  return { start, end }
}

const backwards: Extend = (text, secret, from, end) => {
  let start = from
  while (text.charCodeAt(start - 1) === secret.charCodeAt(secret.length - (end - start) - 1)) start -= 1
  return { start, end }
}
