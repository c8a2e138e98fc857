/**
 * Masks secrets in texts and values that somebody goes on working with: those that the server knows, those
 * that have a known shape, and the values of fields that are named like one.
 * A secret is masked where it is found and nowhere else: nothing is remembered from one text to the next, so
 * nobody can change what others wrote.
 */
import type { Found } from './secret-probes.ts'
import { secretScan, textMin } from './secret-scan.ts'
import { isMark, secretMark } from './secret-mark.ts'
import { isOwnId, isSecretField, nameMax } from './secret-shapes.ts'

export type Masker = {
  text(text: string): string
  /** The same value where nothing was found. */
  value<T>(value: T, field?: string): T
  /**
   * Whether there is nothing to mask. Texts that are in `clean` are not looked at again, and a few of those
   * that were found to be clean are added.
   */
  isClean(value: unknown, field: string, clean: string[]): boolean
}

export type MaskOptions = {
  /** For what leaves the machine: better one too many. */
  strict?: boolean
  /** Called with every secret that is masked. */
  onSecret?: (secret: string) => void
}

/** R11: names of fields that were looked at once. */
const namesMax = 4096
/** Shorter names of fields hold nothing worth finding. */
const nameMin = 16
/** R11: so many texts are compared with the next. */
const cleanMax = 8

export function createMasker(
  values: readonly string[],
  { strict = false, onSecret }: MaskOptions = {},
): Masker {
  const scan = secretScan(values, strict)
  const names = new Map<string, boolean>()
  const isNamed = (name: string): boolean => {
    const known = names.get(name)
    if (known !== undefined) return known
    const isSecret = isSecretField(name)
    if (names.size < namesMax && name.length <= nameMax) names.set(name, isSecret)
    return isSecret
  }
  const holds = (text: string, field: string, clean: string[]): boolean => {
    if (isNamed(field) && named(text) !== null) return true
    if (text.length < textMin || clean.includes(text)) return false
    if (scan(text) !== null) return true
    if (clean.length < cleanMax) clean.push(text)
    return false
  }
  const masked = (text: string, field: string): string => {
    const places = (isNamed(field) ? named(text) : null) ?? scan(text)
    if (places !== null && onSecret !== undefined)
      for (const { start, end } of places) onSecret(text.slice(start, end))
    return places === null ? text : withMarks(text, places)
  }
  return {
    text: (text) => masked(text, ''),
    value: (value, field = '') => {
      if (typeof value === 'string') return masked(value, field) as typeof value
      if (value === null || typeof value !== 'object') return value
      return holdsAnywhere(value, field, holds, []) ? copyMasked(value, field, masked) : value
    },
    isClean: (value, field, clean) => {
      if (typeof value === 'string') return !holds(value, field, clean)
      return value === null || typeof value !== 'object' || !holdsAnywhere(value, field, holds, clean)
    },
  }
}

const scheme = /^(?:Bearer|Basic) {1,8}(?=\S)/i

/** The whole value of a field that is named like a secret, but for the word before it in a header. */
function named(text: string): Found[] | null {
  const start = scheme.exec(text)?.[0].length ?? 0
  const rest = start === 0 ? text : text.slice(start)
  return rest === '' || isMark(rest) || isOwnId(rest) ? null : [{ start, end: text.length }]
}

function withMarks(text: string, places: readonly Found[]): string {
  let [left, at] = ['', 0]
  for (const { start, end } of places) {
    left += text.slice(at, start) + secretMark
    at = end
  }
  return left + text.slice(at)
}

type Holder = object & { [name: string]: unknown }

/** Values can be nested deeper than the stack, so both walks keep a list. Items have the list's name. */
function holdsAnywhere(
  value: object,
  field: string,
  holds: (text: string, field: string, clean: string[]) => boolean,
  clean: string[],
): boolean {
  const open: [object, string][] = [[value, field]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [holder, inField] = next
    if (Array.isArray(holder)) {
      for (const part of holder as unknown[]) {
        if (typeof part === 'string' && holds(part, inField, clean)) return true
        if (part !== null && typeof part === 'object') open.push([part, inField])
      }
      continue
    }
    for (const name in holder) {
      const part = (holder as Holder)[name]
      if (
        (name.length >= nameMin && holds(name, '', clean)) ||
        (typeof part === 'string' && holds(part, name, clean))
      )
        return true
      if (part !== null && typeof part === 'object') open.push([part, name])
    }
  }
  return false
}

function copyMasked<T extends object>(
  value: T,
  field: string,
  masked: (text: string, field: string) => string,
): T {
  const top = emptyLike(value)
  const open: [object, object, string][] = [[value, top, field]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [holder, copy, inField] = next
    const list = Array.isArray(holder)
    let marks = 0
    for (const [name, part] of Object.entries(holder)) {
      const partField = list ? inField : name
      const isHolder = part !== null && typeof part === 'object'
      const left: unknown =
        typeof part === 'string' ? masked(part, partField) : isHolder ? emptyLike(part as object) : part
      if (isHolder) open.push([part as object, left as object, partField])
      let shown = list || name.length < nameMin ? name : masked(name, '')
      // Names are told apart, or one field would replace another.
      if (shown !== name && (marks += 1) > 1) shown = `${shown} ${marks}`
      // Assigning would make a prototype of a field named `__proto__`.
      Object.defineProperty(copy, shown, {
        value: left,
        enumerable: true,
        writable: true,
        configurable: true,
      })
    }
  }
  return top as T
}

const emptyLike = (value: object): object => (Array.isArray(value) ? [] : {})
