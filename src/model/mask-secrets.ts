/**
 * Takes secrets out of texts and values that somebody goes on working with: by value, by the name of their field, and by shape.
 * One secret has one mark, so that what was done with it can still be followed. What has no secret is handed back as it is, after one cheap look.
 */
import { firmShapes, hasHint, isMark, isSecretField, isWorthHiding, looksRandom, markOf, privateKeyHint, withoutScheme } from './secret-shapes.ts'

export type Masker = {
  /** A secret from now on, wherever it stands. */
  know(value: string): void
  /** Whether this text may have one: at times a false yes, never a false no. It begins with a line break that is not part of it. */
  suspects(text: string): boolean
  /** Notes what is named or shaped like a secret, so that it is found in texts that came before it, too. */
  look(value: unknown, field: string): void
  text(text: string): string
  /** The same value where nothing was found. */
  value<T>(value: T, field?: string): T
}

/** R11: so many that were found are looked for elsewhere; an older one is forgotten first. */
const learnedMax = 64
const marksMax = 10_000
/** So much of a secret, or half of it, is taken out where a text was cut inside of it. */
const partMin = 12

/** `of` is the secret itself, where this is another form of it. */
type Known = { secret: string; of: string; head: string; tail: string }

export function maskerOf(values: readonly string[]): Masker {
  const marks = new Map<string, string>()
  const given = new Map<string, string>()
  const learned = new Set<string>()
  let known: Known[] = []
  let pieces: RegExp | null = null
  let first = new RegExp(privateKeyHint)

  const markFor = (secret: string): string => {
    const mark = marks.get(secret) ?? markOf(marks.size < marksMax ? marks.size + 1 : 0)
    if (marks.size < marksMax) marks.set(secret, mark)
    return mark
  }
  const arrange = (): void => {
    // A secret inside of a longer one must not break it up.
    known = [...given, ...[...learned].map((secret): [string, string] => [secret, secret])].sort(([a], [b]) => b.length - a.length).map(([secret, of]) => {
      const part = Math.max(partMin, Math.ceil(secret.length / 2))
      return { secret, of, head: secret.slice(0, part), tail: secret.slice(-part) }
    })
    const found = [...new Set(known.flatMap(({ head, tail }) => [head, tail]))]
    const all = found.map(escaped).join('|')
    pieces = found.length === 0 ? null : new RegExp(all)
    first = new RegExp(found.length === 0 ? privateKeyHint : `${all}|${privateKeyHint}`)
  }
  const learn = (secret: string): string => {
    if (looksRandom(secret) && !given.has(secret) && !learned.has(secret)) {
      if (learned.size >= learnedMax) learned.delete(learned.values().next().value ?? '')
      learned.add(secret)
      arrange()
    }
    return markFor(secret)
  }
  const mask = (text: string): string => {
    let left = text
    if (pieces?.test(left) === true) {
      for (const { secret, of } of known) if (left.includes(secret)) left = left.replaceAll(secret, () => markFor(of))
      for (const one of known) if (left.includes(one.head) || left.includes(one.tail)) left = withoutParts(left, one, markFor(one.of))
    }
    for (const shape of firmShapes) left = left.replace(shape, (whole: string, group: unknown) => (typeof group === 'string' ? whole.replace(group, () => learn(group)) : learn(whole)))
    return left
  }
  const masker: Masker = {
    know(value) {
      if (!isWorthHiding(value)) return
      const before = given.size
      for (const form of formsOf(value)) given.set(form, value)
      if (given.size > before) arrange()
    },
    suspects: (text) => first.test(text) || hasHint(text),
    look(value, field) {
      visit(value, field, (text, name) => {
        if (isSecretField(name) && text !== '' && !isMark(text)) learn(withoutScheme(text))
        for (const shape of firmShapes) for (const match of text.matchAll(shape)) learn(match[1] ?? match[0])
      })
    },
    text: (text) => (masker.suspects(`\n${text}`) ? mask(text) : text),
    value: <T>(value: T, field = ''): T => changed(value, field, (text, name) => (isSecretField(name) && text !== '' && !isMark(text) ? text.replace(withoutScheme(text), (secret) => learn(secret)) : mask(text))) as T,
  }
  for (const value of values) masker.know(value)
  return masker
}

/** As it stands in JSON and in an address, where that is something else. */
const formsOf = (value: string): Set<string> => new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)])

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

function withoutParts(text: string, { secret, head, tail }: Known, mark: string): string {
  let left = text
  for (let at = left.indexOf(head); at >= 0; at = left.indexOf(head, at + mark.length)) {
    let end = at + head.length
    while (end < left.length && end - at < secret.length && left[end] === secret[end - at]) end += 1
    left = left.slice(0, at) + mark + left.slice(end)
  }
  for (let at = left.indexOf(tail); at >= 0; at = left.indexOf(tail, at + 1)) {
    let start = at
    while (start > 0 && left[start - 1] === secret[secret.length - tail.length - (at - start) - 1]) start -= 1
    left = left.slice(0, start) + mark + left.slice(at + tail.length)
    at = start
  }
  return left
}

function visit(value: unknown, field: string, seen: (text: string, field: string) => void): void {
  if (typeof value === 'string') return seen(value, field)
  if (Array.isArray(value)) return value.forEach((part) => visit(part, field, seen))
  if (value === null || typeof value !== 'object') return
  for (const [name, part] of Object.entries(value)) visit(part, name, seen)
}

/** Keeps what did not change, down to the same object. */
function changed(value: unknown, field: string, change: (text: string, field: string) => string): unknown {
  if (typeof value === 'string') return change(value, field)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const parts = value.map((part) => changed(part, field, change))
    return parts.some((part, index) => part !== value[index]) ? parts : value
  }
  let different = false
  const entries = Object.entries(value).map(([name, part]): [string, unknown] => {
    const [newName, newPart] = [change(name, ''), changed(part, name, change)]
    if (newName !== name || newPart !== part) different = true
    return [newName, newPart]
  })
  return different ? Object.fromEntries(entries) : value
}
