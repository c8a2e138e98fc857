/**
 * Masks secrets in texts and values that somebody goes on working with: those that the server knows, those
 * that have a known shape, and the values of fields that are named like one.
 * A secret is masked where it is found and nowhere else: nothing is remembered from one text to the next, so
 * nobody can change what others wrote.
 */
import type { Found } from './secret-probes.ts'
import { scanSliceUnits, secretScan, textMin, type Places, type Scan } from './secret-scan.ts'
import { isMark, secretMark } from './secret-mark.ts'
import { remembered } from './remembered.ts'
import { isOwnId, isSecretField, nameMax } from './secret-shapes.ts'

export type Masker = {
  text(text: string): string
  /** The same value where nothing was found. */
  value<T>(value: T, field?: string, looking?: Looking): T
  /** Whether there is nothing to mask. Means nothing once `looking` has found that it takes too long. */
  isClean(value: unknown, field: string, looking: Looking): boolean
  /**
   * Looks at these values of fields, and yields after every slice: what it finds need not be looked for
   * again.
   */
  inspect(values: readonly (readonly [field: string, value: unknown])[]): Generator<undefined, Known>
}

/** What was found in values that were looked at before. */
export type Known = {
  /** What a scan found in each text. */
  readonly places: ReadonlyMap<string, Places>
  /** Lists and objects that hold nothing to mask. They must not be changed meanwhile. */
  readonly clean: ReadonlySet<unknown>
}

/** One look at several values. */
export type Looking = {
  /** A few texts that were found to be clean: one transaction often has the same text several times. */
  readonly clean: string[]
  readonly known: Known | null
  /** How much may still be looked at; below zero it takes too long. */
  unitsLeft: number
}
export const looking = (known: Known | null, unitsLeft: number): Looking => ({
  clean: [],
  known,
  unitsLeft,
})
const freely = (): Looking => looking(null, Infinity)

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
  const isShortNamed = remembered(isSecretField, namesMax)
  // Longer ones are no names, and are not kept.
  const isNamed = (name: string): boolean => name.length <= nameMax && isShortNamed(name)
  const placesIn = (text: string, look: Looking): Places => {
    const known = look.known?.places.get(text)
    if (known !== undefined) return known
    look.unitsLeft -= text.length
    return look.unitsLeft < 0 ? null : scan(text)
  }
  const holds = (text: string, field: string, look: Looking): boolean => {
    if (isNamed(field) && named(text) !== null) return true
    if (text.length < textMin || look.clean.includes(text)) return false
    if (placesIn(text, look) !== null) return true
    if (look.clean.length < cleanMax) look.clean.push(text)
    return false
  }
  const masked = (text: string, field: string, look: Looking): string => {
    const places = (isNamed(field) ? named(text) : null) ?? placesIn(text, look)
    if (places !== null && onSecret !== undefined)
      for (const { start, end } of places) onSecret(text.slice(start, end))
    return places === null ? text : withMarks(text, places)
  }
  return {
    text: (text) => masked(text, '', freely()),
    value: (value, field = '', look = freely()) => {
      if (typeof value === 'string') return masked(value, field, look) as typeof value
      if (value === null || typeof value !== 'object') return value
      return holdsAnywhere(value, field, holds, look) ? copyMasked(value, field, masked, look) : value
    },
    isClean: (value, field, look) => {
      if (typeof value === 'string') return !holds(value, field, look)
      return value === null || typeof value !== 'object' || !holdsAnywhere(value, field, holds, look)
    },
    *inspect(given) {
      // Others look at other texts between two slices, with a scan of their own.
      const places = yield* inspectTexts(
        secretScan(values, strict),
        given.map(([, value]) => value),
      )
      const clean = new Set<unknown>()
      for (const [field, value] of given) {
        if (value === null || typeof value !== 'object') continue
        yield
        const look = looking({ places, clean: new Set() }, Infinity)
        if (!holdsAnywhere(value, field, holds, look)) clean.add(value)
      }
      return { places, clean }
    },
  }
}

/** So many units are looked at in one go. */
const unitsPerSlice = 65_536
/** A member of a list or an object costs something, whatever it is. */
const unitsPerPart = 8
/** A text costs something besides its length. */
const unitsPerText = 64

function* inspectTexts(
  scan: Scan,
  values: Iterable<unknown>,
): Generator<undefined, ReadonlyMap<string, Places>> {
  const found = new Map<string, Places>()
  let units = 0
  for (const text of listTexts(values)) {
    units += unitsPerText
    if (text.length >= textMin && !found.has(text)) {
      const scanning = scan.inSlices(text)
      let step = scanning.next()
      for (; step.done !== true; step = scanning.next()) {
        units += scanSliceUnits
        if (units < unitsPerSlice) continue
        units = 0
        yield
      }
      found.set(text, step.value)
      units += text.length % scanSliceUnits
    }
    if (units < unitsPerSlice) continue
    units = 0
    yield
  }
  return found
}

/** Every text in values of any depth, with the names of fields that may hold one. */
function* listTexts(values: Iterable<unknown>): Generator<string> {
  const open: unknown[] = [...values]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'string') yield next
    if (next === null || typeof next !== 'object') continue
    for (const name in next) {
      if (!Array.isArray(next) && name.length >= nameMin) yield name
      open.push((next as Holder)[name])
    }
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
  holds: (text: string, field: string, look: Looking) => boolean,
  look: Looking,
): boolean {
  if (look.known?.clean.has(value) === true) return false
  const open: [object, string][] = [[value, field]]
  for (let next = open.pop(); next !== undefined && look.unitsLeft >= 0; next = open.pop()) {
    const [holder, inField] = next
    if (Array.isArray(holder)) {
      look.unitsLeft -= holder.length * unitsPerPart
      for (const part of holder as unknown[]) {
        if (typeof part === 'string' && holds(part, inField, look)) return true
        if (part !== null && typeof part === 'object') open.push([part, inField])
      }
      continue
    }
    for (const name in holder) {
      const part = (holder as Holder)[name]
      look.unitsLeft -= unitsPerPart
      if (
        (name.length >= nameMin && holds(name, '', look)) ||
        (typeof part === 'string' && holds(part, name, look))
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
  masked: (text: string, field: string, look: Looking) => string,
  look: Looking,
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
        typeof part === 'string' ? masked(part, partField, look) : isHolder ? emptyLike(part as object) : part
      if (isHolder) open.push([part as object, left as object, partField])
      let shown = list || name.length < nameMin ? name : masked(name, '', look)
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
